"""DeepSeek Harness: the plugin's row in its configuration, and the session files that it keeps."""
