"""What is done when nobody waits.

aging:     documents move to the tier of their age, and files become small again
dreaming:  links between all documents of a space, and one of two that say the same
checking:  is all there? verify, mend, salvage
copies:    export, restore, backup
switching: going over to another embedder
schedule:  which of these comes round by the clock
"""
