"""Documents grow old: moved to the tier of their age, and the files made small again."""
