"""Demo of everything at small size: a wiki's dump, a pretrained model, five tasks and a report."""
