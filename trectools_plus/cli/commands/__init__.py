"""The commands: every file is loaded when one of its commands is called."""
