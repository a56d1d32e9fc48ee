"""What is trained: one file a task, with its loss, its predictions and their score."""
