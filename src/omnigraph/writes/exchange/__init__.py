"""Relations that no process holds whole: workers cut rows by their values, and others go on with one bucket of them.

readers ─► cut files in the scratch ─► statements, bucket by bucket on any worker ─► cut files ─► …

Both engines only run tasks here. What comes back to the driver is names of files and small answers.
"""
