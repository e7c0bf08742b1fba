"""The figures: each is drawn from the table on which its claims were judged, and says when it is not.

``python -m theory.figures`` draws them all. One module is one figure; it has ``TITLE`` (one plain line), ``STUDY``
(the function that returns its table), ``CLAIMS`` (ids of the claims that it shows, shell patterns allowed) and
``draw(table)``, which returns a Matplotlib figure and touches no global state. A module here that assigns ``TITLE``
is a figure; nothing else registers it.
"""
