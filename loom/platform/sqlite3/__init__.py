"""Django's database backend for SQLite, with a fair queue before its write lock."""
