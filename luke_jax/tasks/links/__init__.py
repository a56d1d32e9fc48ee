"""Link prediction: vectors of a graph's entities and relations, learned from its triples."""
