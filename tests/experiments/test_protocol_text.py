"""What readers are told of how the numbers came about."""

from anchorview.experiments.output.protocol_text import protocol
from helpers.handmade import Book, done


def oracle(book, column, count, data="digits", suite="compare"):
    for beta in range(count):
        book.add(f"{column} (oracle)", done([0.5]), data, "oracle", suite, beta=beta)


def test_the_oracle_says_among_how_many_settings_it_chose():
    book = Book("digits", "small")
    for data in ("digits", "small"):
        oracle(book, "AMGL", 3, data)
        oracle(book, "BMVC", 6 if data == "digits" else 2, data)
        oracle(book, "DALMC", 18, data)
        oracle(book, "ablation-1", 4, data, "ablation")
        oracle(book, "DALMC", 4, data, "ablation")
    text = " ".join(protocol(book.frame()))
    assert (
        "In the suite compare, settings to take from: DALMC 18, BMVC 2 to 6, AMGL 3. The best of "
        "more is higher by chance alone, which favors DALMC. In the suite ablation, settings to "
        "take from: ablation-1 4, DALMC 4. In all else labels"
    ) in text


def test_settings_that_could_not_be_run_were_tried_too():
    book = Book()
    oracle(book, "DALMC", 2)
    book.add("DALMC (oracle)", None, mode="oracle", beta=9.0)
    assert "settings to take from: DALMC 3." in " ".join(protocol(book.frame()))


def test_without_an_oracle_there_is_no_word_of_it():
    book = Book()
    book.add("DALMC", done([0.5]))
    text = " ".join(protocol(book.frame()))
    assert "racle" not in text
    assert "Labels are used for scores only." in text


def test_what_a_run_is_and_what_is_not_in_it():
    book = Book()
    book.add("DALMC", done([0.5]))
    text = " ".join(protocol(book.frame()))
    assert "what a user gets" not in text
    assert 'in the table "What the estimators return"' in text
    assert "in the suite incomplete it is one fit at each share" in text
    assert "divisor n" in text
