"""What the Query page is made of: the editor, the form, the answer in its several shapes."""
