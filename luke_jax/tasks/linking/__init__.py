"""Entity linking: which entity of a knowledge base each name in a text means, if any."""
