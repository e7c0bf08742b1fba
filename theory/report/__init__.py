"""How a result is read and cited: the committed evidence as values, certified digits, the index, BibTeX and LaTeX.

Decides nothing and imports nothing of the verify suite. The rooms' door is ``python -m theory``.
"""
