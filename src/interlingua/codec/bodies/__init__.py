"""What a body must look like, and what is raised or written where one is an error or cannot be read."""
