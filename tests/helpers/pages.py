"""Parsing of report pages, and text that must be escaped on them."""

from html.parser import HTMLParser

EVIL = "<script>window.hacked=1</script><img src=x onerror=window.hacked=1>"
"""Text that would run as a script wherever it is not escaped."""


class ParsedPage(HTMLParser):
    """Tags with their attributes, scripts, section titles, and all other text."""

    def __init__(self, path):
        super().__init__()
        self.tags, self.scripts, self.section_titles, self.texts = [], [], [], []
        self._tag = None
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self._tag = tag
        if tag == "script":
            self.scripts.append([dict(attrs), ""])

    def handle_endtag(self, tag):
        self._tag = None

    def handle_data(self, data):
        if self._tag == "script":
            self.scripts[-1][1] += data
        elif self._tag != "style" and data.strip():
            self.texts.append(" ".join(data.split()))
        if self._tag == "h2":
            self.section_titles.append(data)

    @property
    def text(self):
        return " ".join(self.texts)

    @property
    def cards(self):
        return [attrs for attrs in self.attributes("li") if attrs.get("class") == "card"]

    def attributes(self, tag):
        return [attributes for name, attributes in self.tags if name == tag]
