"""The eight methods that DALMC was compared with, behind one face.

Each is written from the equations that its authors' published program follows; its docstring says
where that program and the paper differ.
"""
