"""TransE: vectors of a graph's entities and relations, learned from its triples.

The system of Bordes et al. (2013), with the negatives of Sun et al. (2019).
"""
