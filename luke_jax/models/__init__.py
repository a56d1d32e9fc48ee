"""The contracts of systems and heads, and what is common to models of every system."""
