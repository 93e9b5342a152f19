"""Numbers, stores and announces events; decides nothing."""
