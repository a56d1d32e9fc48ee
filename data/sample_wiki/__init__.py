"""An invented world, the facts about it, and dumps of the encyclopedias that tell them."""
