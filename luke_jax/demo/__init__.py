"""Everything once, small: a wiki's dump, a pretrained model, five tasks, and a page to look at."""
