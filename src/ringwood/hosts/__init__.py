"""What each agent host writes and reads: the events of its hooks, its logs, its plugin's files."""
