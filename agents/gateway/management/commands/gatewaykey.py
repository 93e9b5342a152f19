"""`manage.py gatewaykey USER NAME --model PARTICIPANT [--mode observe|workspace] [--days N]`: makes
a gateway key and prints it once, alone on the last line."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from agents.gateway.keys import MOST_DAYS, make_key, models_of
from agents.gateway.models import Mode
from loom import access, errors
from loom.people.commands.accounts import find_user


class Command(BaseCommand):
    """Makes a gateway key."""

    help = "Makes a gateway key of a person for a model, and prints it once."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """The arguments."""
        parser.add_argument("user")
        parser.add_argument("name")
        parser.add_argument("--model", required=True, help="the name or id of a participant")
        parser.add_argument("--mode", choices=Mode.values, default=Mode.OBSERVE)
        parser.add_argument("--days", type=int, help=f"1 to {MOST_DAYS}; without it, no end")

    def handle(self, *args: Any, **options: Any) -> None:
        """Prints the key."""
        user = find_user(options["user"])
        if user is None:
            raise CommandError(f"There is no user {options['user']!r}.")
        wanted = options["model"].casefold()
        models = models_of(access.visible_groves(user))
        named = [
            model for model in models if wanted in (model.uid.casefold(), model.name.casefold())
        ]
        if len(named) != 1:
            listed = ", ".join(f"{model.name} ({model.uid})" for model in models[:20])
            raise CommandError(f"Name one model of {user}'s groves by its id: {listed or 'none'}.")
        try:
            _, secret = make_key(
                user,
                named[0].uid,
                name=options["name"],
                mode=options["mode"],
                days=options["days"],
            )
        except errors.CommandError as refused:
            raise CommandError(f"{refused.message} {refused.hint}".strip()) from None
        self.stdout.write(secret)
