"""The engine: trains whatever task it is handed, on one device or a pod, and resumes to the bit."""
