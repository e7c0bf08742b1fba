"""Training of the three attentions on the tasks of the paper: what a run is, how it is made, stored and read.

``python -m theory.metric`` runs them; :mod:`theory.metric.experiments.results` reads what came out.
"""
