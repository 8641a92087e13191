"""``python -m mbsim_cli`` is the command ``mbsim``."""

from mbsim_cli.cli.app import main

if __name__ == "__main__":
    main()
