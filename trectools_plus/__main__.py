"""``python -m trectools_plus``: the command ``trectools-plus``."""

from trectools_plus.cli import main

if __name__ == "__main__":
    main()
