"""Tasks: pretraining, and a folder for each fine-tuned task: its loss, predictions and scores."""
