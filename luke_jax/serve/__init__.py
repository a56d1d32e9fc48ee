"""Page on this machine that shows a model's predictions for a text as it is typed."""
