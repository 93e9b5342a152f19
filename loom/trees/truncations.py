"""Which nodes of a long path are sent where a model cannot read all of it. Pure."""

TRUNCATIONS = ("truncateMiddle", "rollingWindow", "stopAtLimit")
