"""The figures: each is drawn from the table on which its claims were judged, and says when it is not.

``python -m theory.figures`` draws them all. One module is one figure; it has ``TITLE`` (one plain line), ``STUDY``
(the function that returns its table), ``CLAIMS`` (ids of the claims that it shows, shell patterns allowed) and
``draw(table)``, which returns a Matplotlib figure and touches no global state; ``DATA`` names files of the package that
its study reads and a wheel may lack. A folder is a subject. A module in one that assigns ``TITLE`` is a figure, and
nothing else registers it.

What is promised of the files: a figure is drawn when its table, its caption or its code has changed, and otherwise
stays as it is, so that drawing all of them in a clone changes nothing, on any processor and with any Matplotlib.
Drawn again (``--redraw``), it has the same bytes on one processor with the same packages, which the manifest names.
"""
