"""The engine: trains any task on one device or a pod, and resumes with identical bits."""
