"""`python -m omnigraph`: the same program as `omnigraph`, for when the script is not on the path."""

from omnigraph.cli.main import program

if __name__ == "__main__":
    program()
