"""The pages of an operator: people, groves, work, sizes and costs of an installation."""
