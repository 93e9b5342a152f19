"""Pages and API of a grove, where several features meet: its trees, search in them, members, tags,
money, settings. Who belongs to a grove, and its tables, are in `loom.people`."""
