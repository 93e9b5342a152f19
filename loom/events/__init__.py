"""Numbers, stores and announces what happened; decides nothing."""
