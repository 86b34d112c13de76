"""What is done when nobody waits: moving documents to the tier of their age, and dreaming."""
