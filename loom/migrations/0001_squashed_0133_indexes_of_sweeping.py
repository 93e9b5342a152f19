"""All tables as 0133 leaves them, for a new database.

A database that has some of the migrations named in `replaces` runs the rest of them instead;
Django then notes this one as done. What the two ways make is compared in
tests/queries/test_migrations.py.
"""

from importlib import import_module

import django.contrib.auth.models
import django.contrib.auth.validators
import django.db.models.deletion
import django.db.models.functions.text
import django.utils.timezone
import loom.models.base
from django.conf import settings
from django.db import migrations, models

search = import_module("loom.migrations.0002_search_and_append_only")
trigrams = import_module("loom.migrations.0015_search_without_positions")
guard = import_module("loom.migrations.0017_node_content_guard")


class Migration(migrations.Migration):
    initial = True

    replaces = [
        ("loom", "0001_initial"),
        ("loom", "0002_search_and_append_only"),
        ("loom", "0003_outline_state"),
        ("loom", "0004_drafts"),
        ("loom", "0005_money_and_lanes"),
        ("loom", "0006_preferences"),
        ("loom", "0007_turns"),
        ("loom", "0008_public_links"),
        ("loom", "0009_step_position"),
        ("loom", "0010_call_origin"),
        ("loom", "0011_turn_warnings"),
        ("loom", "0012_probe"),
        ("loom", "0013_call_strategy"),
        ("loom", "0014_receipt_at"),
        ("loom", "0015_search_without_positions"),
        ("loom", "0016_mark_imported_nodes"),
        ("loom", "0017_node_content_guard"),
        ("loom", "0018_texts_stored_once"),
        ("loom", "0019_steps_of_streams"),
        ("loom", "0020_api_key_scope"),
        ("loom", "0021_indexes_of_open_work"),
        ("loom", "0022_sizes_of_trees"),
        ("loom", "0023_names_of_archived_agents"),
        ("loom", "0024_items"),
        ("loom", "0025_items_filled"),
        ("loom", "0026_items_required"),
        ("loom", "0027_turn_scope_and_request"),
        ("loom", "0032_models_added_by_owners"),
        ("loom", "0034_parts_of_imports"),
        ("loom", "0036_images"),
        ("loom", "0038_saved"),
        ("loom", "0039_branch_settings"),
        ("loom", "0040_news"),
        ("loom", "0046_windows"),
        ("loom", "0050_step_quoted"),
        ("loom", "0051_requests_packed"),
        ("loom", "0052_turns_stored_once"),
        ("loom", "0053_node_by_depth"),
        ("loom", "0054_plain_names"),
        ("loom", "0055_order_of_siblings"),
        ("loom", "0065_documents"),
        ("loom", "0075_steering"),
        ("loom", "0085_window_forms"),
        ("loom", "0095_tasks"),
        ("loom", "0096_augments"),
        ("loom", "0097_versions_of_links"),
        ("loom", "0110_provider_auth"),
        ("loom", "0111_summaries_of_documents"),
        ("loom", "0115_step_loop"),
        ("loom", "0125_generation_document"),
        ("loom", "0130_web_search"),
        ("loom", "0131_document_embeds"),
        ("loom", "0132_windows_of_windows"),
        ("loom", "0133_indexes_of_sweeping"),
    ]

    dependencies = [
        ("auth", "0012_alter_user_first_name_max_length"),
    ]

    operations = [
        migrations.CreateModel(
            name="Document",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                (
                    "uid",
                    models.CharField(
                        default=loom.models.base.new_uid, editable=False, max_length=32, unique=True
                    ),
                ),
                ("title", models.CharField(max_length=200)),
                ("title_key", models.CharField(max_length=400)),
                ("kind", models.CharField(default="note", max_length=8)),
                ("made_at", models.DateTimeField()),
                ("touched_at", models.DateTimeField()),
                ("revision", models.IntegerField(default=0)),
                ("words", models.IntegerField(default=0)),
                ("head", models.BigIntegerField(default=0)),
                ("settled", models.BigIntegerField(default=0)),
                ("summary", models.TextField(blank=True, default="")),
                ("summary_revision", models.IntegerField(default=0)),
            ],
            options={
                "ordering": ["-touched_at", "-id"],
                "indexes": [
                    models.Index(
                        condition=models.Q(("head__gt", models.F("settled"))),
                        fields=["head"],
                        name="document_unsettled",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Grove",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                (
                    "uid",
                    models.CharField(
                        default=loom.models.base.new_uid, editable=False, max_length=32, unique=True
                    ),
                ),
                ("name", models.CharField(max_length=200)),
                ("settings", models.JSONField(default=dict)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
            ],
            options={
                "ordering": ["id"],
            },
        ),
        migrations.CreateModel(
            name="Lane",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.CharField(max_length=64, unique=True)),
                ("reached", models.BigIntegerField(default=0)),
            ],
        ),
        migrations.CreateModel(
            name="Stream",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.CharField(max_length=48, unique=True)),
                ("head", models.BigIntegerField(default=0)),
                ("items", models.BigIntegerField(default=0)),
                ("leaves", models.BigIntegerField(null=True)),
                ("deepest", models.IntegerField(null=True)),
                ("erasing", models.BooleanField(default=False)),
            ],
        ),
        migrations.CreateModel(
            name="User",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("password", models.CharField(max_length=128, verbose_name="password")),
                (
                    "last_login",
                    models.DateTimeField(blank=True, null=True, verbose_name="last login"),
                ),
                (
                    "is_superuser",
                    models.BooleanField(
                        default=False,
                        help_text="Designates that this user has all permissions without explicitly assigning them.",
                        verbose_name="superuser status",
                    ),
                ),
                (
                    "username",
                    models.CharField(
                        error_messages={"unique": "A user with that username already exists."},
                        help_text="Required. 150 characters or fewer. Letters, digits and @/./+/-/_ only.",
                        max_length=150,
                        unique=True,
                        validators=[django.contrib.auth.validators.UnicodeUsernameValidator()],
                        verbose_name="username",
                    ),
                ),
                (
                    "first_name",
                    models.CharField(blank=True, max_length=150, verbose_name="first name"),
                ),
                (
                    "last_name",
                    models.CharField(blank=True, max_length=150, verbose_name="last name"),
                ),
                (
                    "email",
                    models.EmailField(blank=True, max_length=254, verbose_name="email address"),
                ),
                (
                    "is_staff",
                    models.BooleanField(
                        default=False,
                        help_text="Designates whether the user can log into this admin site.",
                        verbose_name="staff status",
                    ),
                ),
                (
                    "is_active",
                    models.BooleanField(
                        default=True,
                        help_text="Designates whether this user should be treated as active. Unselect this instead of deleting accounts.",
                        verbose_name="active",
                    ),
                ),
                (
                    "date_joined",
                    models.DateTimeField(
                        default=django.utils.timezone.now, verbose_name="date joined"
                    ),
                ),
                ("display_name", models.CharField(blank=True, max_length=80)),
                ("theme", models.CharField(default="system", max_length=10)),
                ("preferences", models.JSONField(default=dict)),
                ("is_operator", models.BooleanField(default=False)),
                (
                    "groups",
                    models.ManyToManyField(
                        blank=True,
                        help_text="The groups this user belongs to. A user will get all permissions granted to each of their groups.",
                        related_name="user_set",
                        related_query_name="user",
                        to="auth.group",
                        verbose_name="groups",
                    ),
                ),
                (
                    "user_permissions",
                    models.ManyToManyField(
                        blank=True,
                        help_text="Specific permissions for this user.",
                        related_name="user_set",
                        related_query_name="user",
                        to="auth.permission",
                        verbose_name="user permissions",
                    ),
                ),
            ],
            options={
                "verbose_name": "user",
                "verbose_name_plural": "users",
                "abstract": False,
            },
            managers=[
                ("objects", django.contrib.auth.models.UserManager()),
            ],
        ),
        migrations.CreateModel(
            name="ApiKey",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                (
                    "uid",
                    models.CharField(
                        default=loom.models.base.new_uid, editable=False, max_length=32, unique=True
                    ),
                ),
                ("name", models.CharField(max_length=80)),
                ("digest", models.CharField(max_length=64, unique=True)),
                ("hint", models.CharField(max_length=8)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("last_used_at", models.DateTimeField(null=True)),
                ("revoked_at", models.DateTimeField(null=True)),
                ("scope", models.CharField(default="owner", max_length=8)),
                ("expires_at", models.DateTimeField(null=True)),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="api_keys",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "ordering": ["-created_at", "-id"],
            },
        ),
        migrations.CreateModel(
            name="DocumentState",
            fields=[
                (
                    "document",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="state",
                        serialize=False,
                        to="loom.document",
                    ),
                ),
                ("seq", models.BigIntegerField()),
                ("state", models.BinaryField()),
            ],
        ),
        migrations.CreateModel(
            name="DocumentText",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("sha256", models.CharField(max_length=64)),
                ("text", models.TextField(blank=True)),
                (
                    "document",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="texts",
                        to="loom.document",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("document", "sha256"), name="document_text_once"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="DocumentUpdate",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("seq", models.BigIntegerField()),
                ("update", models.BinaryField()),
                ("authors", models.JSONField(default=list)),
                ("at", models.DateTimeField()),
                (
                    "document",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="updates",
                        to="loom.document",
                    ),
                ),
            ],
            options={
                "ordering": ["document_id", "seq"],
                "constraints": [
                    models.UniqueConstraint(fields=("document", "seq"), name="update_once")
                ],
            },
        ),
        migrations.AddField(
            model_name="document",
            name="grove",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE,
                related_name="documents",
                to="loom.grove",
            ),
        ),
        migrations.CreateModel(
            name="Node",
            fields=[
                ("id", models.BigIntegerField(primary_key=True, serialize=False)),
                ("local_id", models.CharField(max_length=8)),
                ("kind", models.CharField(default="text", max_length=10)),
                ("form", models.CharField(blank=True, max_length=10)),
                ("text", models.TextField(blank=True)),
                ("blocks", models.JSONField(null=True)),
                ("length", models.IntegerField()),
                ("depth", models.IntegerField()),
                ("parent_hash", models.CharField(blank=True, max_length=64)),
                ("hash", models.CharField(max_length=64)),
                ("configuration", models.CharField(blank=True, max_length=64)),
                ("call_uid", models.CharField(blank=True, max_length=32)),
                ("generation_uid", models.CharField(blank=True, max_length=32)),
                ("finish", models.CharField(default="complete", max_length=80)),
                ("created_at", models.DateTimeField()),
                ("place", models.BigIntegerField(null=True)),
                ("proof_author", models.CharField(blank=True, max_length=64)),
                ("imported", models.JSONField(null=True)),
                ("pruned", models.BooleanField(default=False)),
                ("version_pruned", models.BooleanField(default=False)),
                ("excluded", models.BooleanField(default=False)),
                ("sandbox", models.BooleanField(default=False)),
                ("summary", models.TextField(blank=True)),
                ("resolved_at", models.DateTimeField(null=True)),
                (
                    "edited_from",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="loom.node",
                    ),
                ),
                (
                    "parent_slot",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="below",
                        to="loom.node",
                    ),
                ),
                (
                    "slot",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="versions",
                        to="loom.node",
                    ),
                ),
            ],
            options={
                "ordering": ["id"],
                "indexes": [
                    models.Index(fields=["parent_slot", "id"], name="node_below"),
                    models.Index(fields=["slot", "id"], name="node_versions"),
                    models.Index(
                        models.F("parent_slot"),
                        models.F("kind"),
                        models.Func(
                            "place",
                            "id",
                            output_field=models.BigIntegerField(),
                            template="COALESCE(%(expressions)s & 4294967295 << 20)",
                        ),
                        models.F("id"),
                        condition=models.Q(("pruned", False), ("slot", models.F("id"))),
                        name="node_seen_below",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Item",
            fields=[
                ("id", models.BigIntegerField(primary_key=True, serialize=False)),
                ("kind", models.CharField(max_length=10)),
                ("anchor", models.CharField(blank=True, max_length=80)),
                (
                    "node",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="loom.node",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="NodeSource",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("role", models.CharField(max_length=12)),
                ("version_seen", models.CharField(blank=True, max_length=64)),
                (
                    "item",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="loom.item",
                    ),
                ),
                (
                    "node",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="sources",
                        to="loom.node",
                    ),
                ),
            ],
            options={
                "ordering": ["id"],
                "indexes": [models.Index(fields=["item"], name="source_item")],
            },
        ),
        migrations.CreateModel(
            name="Participant",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                (
                    "uid",
                    models.CharField(
                        default=loom.models.base.new_uid, editable=False, max_length=32, unique=True
                    ),
                ),
                (
                    "kind",
                    models.CharField(
                        choices=[("human", "human"), ("model", "model")], max_length=8
                    ),
                ),
                ("name", models.CharField(max_length=80)),
                ("model_ref", models.CharField(blank=True, max_length=200)),
                ("base_url", models.CharField(blank=True, max_length=500)),
                ("allow_private", models.BooleanField(default=False)),
                ("endpoint", models.CharField(default="chat", max_length=12)),
                ("capabilities", models.JSONField(default=list)),
                ("persona", models.TextField(blank=True)),
                ("temperature", models.FloatField(null=True)),
                ("max_tokens", models.IntegerField(null=True)),
                ("stop", models.JSONField(default=list)),
                ("permissions", models.JSONField(default=list)),
                ("archetype", models.CharField(default="writer", max_length=10)),
                ("authority", models.IntegerField(default=0)),
                ("context_limit", models.IntegerField(default=32768)),
                ("budget", models.CharField(default="standard", max_length=20)),
                ("tool_filter", models.JSONField(default=list)),
                ("sealed_key", models.TextField(blank=True)),
                ("auth", models.CharField(default="bearer", max_length=8)),
                ("lane", models.CharField(blank=True, max_length=64)),
                ("parallel", models.IntegerField(default=12)),
                ("probe", models.JSONField(default=dict)),
                ("prices", models.JSONField(default=dict)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("archived_at", models.DateTimeField(null=True)),
                (
                    "grove",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="participants",
                        to="loom.grove",
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="participants",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "ordering": ["id"],
                "constraints": [
                    models.UniqueConstraint(
                        models.F("grove"),
                        django.db.models.functions.text.Lower("name"),
                        condition=models.Q(
                            ("archived_at__isnull", True), ("kind", "human"), _connector="OR"
                        ),
                        name="participant_name_once",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("user__isnull", False)),
                        fields=("grove", "user"),
                        name="person_once",
                    ),
                ],
            },
        ),
        migrations.AddField(
            model_name="node",
            name="author",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, to="loom.participant"
            ),
        ),
        migrations.CreateModel(
            name="Membership",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("role", models.CharField(max_length=8)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "grove",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="memberships",
                        to="loom.grove",
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="memberships",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "participant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, to="loom.participant"
                    ),
                ),
            ],
            options={
                "ordering": ["id"],
                "constraints": [
                    models.UniqueConstraint(fields=("grove", "user"), name="member_once")
                ],
            },
        ),
        migrations.CreateModel(
            name="Invitation",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                (
                    "uid",
                    models.CharField(
                        default=loom.models.base.new_uid, editable=False, max_length=32, unique=True
                    ),
                ),
                ("role", models.CharField(max_length=8)),
                ("digest", models.CharField(max_length=64, unique=True)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("expires_at", models.DateTimeField()),
                ("uses_left", models.IntegerField()),
                ("revoked_at", models.DateTimeField(null=True)),
                (
                    "grove",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="invitations",
                        to="loom.grove",
                    ),
                ),
                (
                    "made_by",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, to="loom.participant"
                    ),
                ),
            ],
            options={
                "ordering": ["id"],
            },
        ),
        migrations.CreateModel(
            name="Import",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                (
                    "uid",
                    models.CharField(
                        default=loom.models.base.new_uid, editable=False, max_length=32, unique=True
                    ),
                ),
                ("name", models.CharField(max_length=300)),
                ("file", models.CharField(max_length=300)),
                ("format", models.CharField(blank=True, max_length=20)),
                ("status", models.CharField(default="queued", max_length=8)),
                ("stop_asked", models.BooleanField(default=False)),
                ("done", models.BigIntegerField(default=0)),
                ("total", models.BigIntegerField(default=0)),
                ("report", models.JSONField(default=dict)),
                ("error", models.JSONField(null=True)),
                ("options", models.JSONField(default=dict)),
                ("leased_until", models.DateTimeField(null=True)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "grove",
                    models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to="loom.grove"),
                ),
                (
                    "participant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, to="loom.participant"
                    ),
                ),
            ],
            options={
                "ordering": ["-id"],
                "indexes": [models.Index(fields=["status", "created_at"], name="import_by_status")],
            },
        ),
        migrations.AddField(
            model_name="document",
            name="maker",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="+", to="loom.participant"
            ),
        ),
        migrations.CreateModel(
            name="Call",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                (
                    "uid",
                    models.CharField(
                        default=loom.models.base.new_uid, editable=False, max_length=32, unique=True
                    ),
                ),
                ("origin", models.CharField(blank=True, default="", max_length=32)),
                ("purpose", models.CharField(default="continue", max_length=12)),
                ("provider", models.CharField(max_length=40)),
                ("configuration", models.CharField(max_length=64)),
                ("request", models.BinaryField(db_column="request_packed", default=b"")),
                ("response", models.BinaryField(default=b"")),
                ("bytes", models.CharField(default="exact", max_length=12)),
                ("status", models.IntegerField(null=True)),
                ("headers", models.JSONField(default=dict)),
                ("sha256", models.CharField(blank=True, max_length=64)),
                ("usage", models.JSONField(default=dict)),
                ("note", models.TextField(blank=True)),
                ("strategy", models.CharField(blank=True, default="", max_length=16)),
                ("started_at", models.DateTimeField(auto_now_add=True)),
                ("first_at", models.DateTimeField(null=True)),
                ("sealed_at", models.DateTimeField(null=True)),
                (
                    "participant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, to="loom.participant"
                    ),
                ),
            ],
            options={
                "ordering": ["id"],
            },
        ),
        migrations.CreateModel(
            name="Purse",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("day", models.DateField()),
                ("spent", models.BigIntegerField(default=0)),
                (
                    "participant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="purses",
                        to="loom.participant",
                    ),
                ),
            ],
            options={
                "ordering": ["-day", "id"],
                "constraints": [
                    models.UniqueConstraint(fields=("participant", "day"), name="purse_of_a_day")
                ],
            },
        ),
        migrations.CreateModel(
            name="Revision",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("number", models.IntegerField()),
                ("length", models.IntegerField()),
                ("words", models.IntegerField()),
                ("sections", models.JSONField(default=list)),
                ("authors", models.JSONField(default=list)),
                ("restored", models.IntegerField(null=True)),
                ("seq", models.BigIntegerField()),
                ("at", models.DateTimeField()),
                (
                    "by",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="loom.participant",
                    ),
                ),
                (
                    "content",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="loom.documenttext",
                    ),
                ),
                (
                    "document",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="revisions",
                        to="loom.document",
                    ),
                ),
            ],
            options={
                "ordering": ["document_id", "number"],
                "constraints": [
                    models.UniqueConstraint(fields=("document", "number"), name="revision_once")
                ],
            },
        ),
        migrations.CreateModel(
            name="Saved",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                (
                    "uid",
                    models.CharField(
                        default=loom.models.base.new_uid, editable=False, max_length=32, unique=True
                    ),
                ),
                ("kind", models.CharField(max_length=8)),
                ("name", models.CharField(max_length=100)),
                ("body", models.JSONField(default=dict)),
                ("at", models.DateTimeField()),
                (
                    "grove",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="saved",
                        to="loom.grove",
                    ),
                ),
                (
                    "participant",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="saved",
                        to="loom.participant",
                    ),
                ),
            ],
            options={
                "ordering": ["id"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("grove", "participant", "kind", "name"), name="saved_once"
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("participant__isnull", True)),
                        fields=("grove", "kind", "name"),
                        name="saved_of_grove_once",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="SearchService",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("kind", models.CharField(max_length=12)),
                ("base_url", models.CharField(blank=True, max_length=500)),
                ("allow_private", models.BooleanField(default=False)),
                ("sealed_key", models.TextField(blank=True)),
                ("price", models.BigIntegerField(default=0)),
                (
                    "grove",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="search_service",
                        to="loom.grove",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="SigninLink",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("digest", models.CharField(max_length=64, unique=True)),
                ("expires_at", models.DateTimeField()),
                ("used_at", models.DateTimeField(null=True)),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, to=settings.AUTH_USER_MODEL
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Step",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                (
                    "uid",
                    models.CharField(
                        default=loom.models.base.new_uid, editable=False, max_length=32, unique=True
                    ),
                ),
                ("seq", models.IntegerField()),
                ("turn_uid", models.CharField(blank=True, max_length=32)),
                ("turn_place", models.CharField(blank=True, max_length=16)),
                ("position", models.CharField(blank=True, max_length=48)),
                ("line", models.TextField()),
                ("canonical", models.TextField(blank=True)),
                ("arguments", models.JSONField(null=True)),
                ("because", models.TextField(blank=True)),
                ("link_type", models.CharField(blank=True, max_length=40)),
                ("outcome", models.CharField(max_length=40)),
                ("message", models.TextField(blank=True)),
                ("quoted", models.JSONField(null=True)),
                ("hint", models.TextField(blank=True)),
                ("stream", models.CharField(blank=True, max_length=48)),
                ("events", models.JSONField(default=list)),
                ("inverse", models.JSONField(null=True)),
                ("redone", models.BooleanField(default=False)),
                ("is_undone", models.BooleanField(default=False)),
                ("loop", models.CharField(max_length=10, null=True)),
                ("at", models.DateTimeField()),
                (
                    "actor",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="loom.participant",
                    ),
                ),
                (
                    "on_behalf_of",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="loom.participant",
                    ),
                ),
                (
                    "undoes",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="undone_by",
                        to="loom.step",
                    ),
                ),
            ],
            options={
                "ordering": ["id"],
                "indexes": [
                    models.Index(fields=["turn_uid", "id"], name="step_by_turn"),
                    models.Index(fields=["stream", "id"], name="step_by_stream"),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("turn_place", ""), _negated=True),
                        fields=("turn_uid", "turn_place"),
                        name="step_of_turn_once",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="StepItem",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("place", models.SmallIntegerField()),
                (
                    "item",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="loom.item",
                    ),
                ),
                (
                    "step",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="touched",
                        to="loom.step",
                    ),
                ),
            ],
            options={
                "ordering": ["step_id", "place"],
                "constraints": [
                    models.UniqueConstraint(fields=("step", "place"), name="step_item_once")
                ],
            },
        ),
        migrations.CreateModel(
            name="Event",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("seq", models.BigIntegerField()),
                ("kind", models.CharField(max_length=24)),
                ("actor", models.CharField(blank=True, max_length=32)),
                ("origin", models.CharField(blank=True, max_length=80)),
                ("payload", models.JSONField()),
                ("at", models.DateTimeField()),
                (
                    "stream",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="events",
                        to="loom.stream",
                    ),
                ),
            ],
            options={
                "ordering": ["stream", "seq"],
                "constraints": [models.UniqueConstraint(fields=("stream", "seq"), name="seq_once")],
            },
        ),
        migrations.CreateModel(
            name="Tree",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                (
                    "uid",
                    models.CharField(
                        default=loom.models.base.new_uid, editable=False, max_length=32, unique=True
                    ),
                ),
                ("title", models.CharField(blank=True, max_length=300)),
                ("description", models.TextField(blank=True)),
                ("mode", models.CharField(max_length=8)),
                ("system_context", models.TextField(blank=True)),
                ("summary", models.TextField(blank=True)),
                ("truncation", models.CharField(default="truncateMiddle", max_length=16)),
                ("memory", models.TextField(blank=True, default="")),
                ("author_note", models.TextField(blank=True, default="")),
                ("note_depth", models.IntegerField(default=3)),
                ("lore_scan", models.IntegerField(default=2000)),
                ("lore_budget", models.IntegerField(default=1000)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("touched_at", models.DateTimeField(auto_now_add=True)),
                ("archived_at", models.DateTimeField(null=True)),
                ("erasing_at", models.DateTimeField(null=True)),
                ("imported", models.JSONField(null=True)),
                (
                    "grove",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="trees",
                        to="loom.grove",
                    ),
                ),
                (
                    "maker",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, to="loom.participant"
                    ),
                ),
            ],
            options={
                "ordering": ["-touched_at", "-id"],
            },
        ),
        migrations.CreateModel(
            name="Receipt",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("key", models.CharField(max_length=64)),
                ("line_digest", models.CharField(max_length=64)),
                ("answer", models.JSONField()),
                ("at", models.DateTimeField(auto_now_add=True)),
                (
                    "participant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, to="loom.participant"
                    ),
                ),
                (
                    "tree",
                    models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to="loom.tree"),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["at"], name="receipt_at")],
                "constraints": [
                    models.UniqueConstraint(fields=("participant", "tree", "key"), name="key_once")
                ],
            },
        ),
        migrations.CreateModel(
            name="PublicLink",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                (
                    "uid",
                    models.CharField(
                        default=loom.models.base.new_uid, editable=False, max_length=32, unique=True
                    ),
                ),
                ("digest", models.CharField(max_length=64, unique=True)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("expires_at", models.DateTimeField()),
                ("revoked_at", models.DateTimeField(null=True)),
                (
                    "made_by",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, to="loom.participant"
                    ),
                ),
                (
                    "tree",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="public_links",
                        to="loom.tree",
                    ),
                ),
            ],
            options={
                "ordering": ["id"],
            },
        ),
        migrations.AddField(
            model_name="node",
            name="tree",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="nodes", to="loom.tree"
            ),
        ),
        migrations.CreateModel(
            name="Mention",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("at", models.DateTimeField()),
                ("seen_at", models.DateTimeField(null=True)),
                (
                    "node",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="loom.node",
                    ),
                ),
                (
                    "participant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="mentions",
                        to="loom.participant",
                    ),
                ),
                (
                    "tree",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="mentions",
                        to="loom.tree",
                    ),
                ),
            ],
            options={
                "ordering": ["-id"],
                "indexes": [
                    models.Index(
                        condition=models.Q(("seen_at__isnull", True)),
                        fields=["participant"],
                        name="mention_unseen",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Mark",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                (
                    "uid",
                    models.CharField(
                        default=loom.models.base.new_uid, editable=False, max_length=32, unique=True
                    ),
                ),
                ("kind", models.CharField(max_length=8)),
                ("label", models.CharField(blank=True, max_length=200)),
                ("at", models.DateTimeField()),
                ("removed_at", models.DateTimeField(null=True)),
                (
                    "item",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="loom.item",
                    ),
                ),
                (
                    "participant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, to="loom.participant"
                    ),
                ),
                (
                    "tree",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="marks",
                        to="loom.tree",
                    ),
                ),
            ],
            options={
                "ordering": ["id"],
                "indexes": [models.Index(fields=["item", "kind"], name="mark_item")],
            },
        ),
        migrations.CreateModel(
            name="Link",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                (
                    "uid",
                    models.CharField(
                        default=loom.models.base.new_uid, editable=False, max_length=32, unique=True
                    ),
                ),
                ("type", models.CharField(default="related", max_length=40)),
                ("source_version", models.CharField(blank=True, max_length=64)),
                ("target_version", models.CharField(blank=True, max_length=64)),
                ("note", models.TextField(blank=True)),
                ("confidence", models.FloatField(null=True)),
                ("at", models.DateTimeField()),
                ("removed_at", models.DateTimeField(null=True)),
                (
                    "source",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="loom.item",
                    ),
                ),
                (
                    "target",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="loom.item",
                    ),
                ),
                (
                    "by",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, to="loom.participant"
                    ),
                ),
                (
                    "tree",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="links",
                        to="loom.tree",
                    ),
                ),
            ],
            options={
                "ordering": ["id"],
                "indexes": [
                    models.Index(fields=["source"], name="link_source"),
                    models.Index(fields=["target"], name="link_target"),
                ],
            },
        ),
        migrations.AddField(
            model_name="item",
            name="tree",
            field=models.ForeignKey(
                db_constraint=False,
                db_index=False,
                on_delete=django.db.models.deletion.DO_NOTHING,
                related_name="+",
                to="loom.tree",
            ),
        ),
        migrations.CreateModel(
            name="ImportPart",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("number", models.IntegerField()),
                ("title", models.CharField(blank=True, max_length=300)),
                ("at", models.DateTimeField(null=True)),
                ("count", models.IntegerField(default=0)),
                ("status", models.CharField(default="listed", max_length=8)),
                ("error", models.JSONField(null=True)),
                (
                    "of",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="parts",
                        to="loom.import",
                    ),
                ),
                (
                    "tree",
                    models.ForeignKey(
                        null=True, on_delete=django.db.models.deletion.SET_NULL, to="loom.tree"
                    ),
                ),
            ],
            options={
                "ordering": ["number"],
                "constraints": [models.UniqueConstraint(fields=("of", "number"), name="part_once")],
            },
        ),
        migrations.AddField(
            model_name="import",
            name="tree",
            field=models.ForeignKey(
                null=True, on_delete=django.db.models.deletion.SET_NULL, to="loom.tree"
            ),
        ),
        migrations.CreateModel(
            name="Image",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("sha256", models.CharField(max_length=64)),
                ("media_type", models.CharField(max_length=20)),
                ("width", models.IntegerField()),
                ("height", models.IntegerField()),
                ("size", models.IntegerField()),
                ("at", models.DateTimeField(auto_now_add=True)),
                (
                    "by",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, to="loom.participant"
                    ),
                ),
                (
                    "tree",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="images",
                        to="loom.tree",
                    ),
                ),
            ],
            options={
                "ordering": ["id"],
                "constraints": [
                    models.UniqueConstraint(fields=("sha256", "tree"), name="image_of_a_tree_once")
                ],
            },
        ),
        migrations.CreateModel(
            name="Generation",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                (
                    "uid",
                    models.CharField(
                        default=loom.models.base.new_uid, editable=False, max_length=32, unique=True
                    ),
                ),
                ("round", models.IntegerField(default=0)),
                ("batch", models.CharField(max_length=32)),
                ("index", models.IntegerField()),
                ("after", models.BigIntegerField(null=True)),
                ("tokens", models.IntegerField(null=True)),
                ("temperature", models.FloatField(null=True)),
                ("settings", models.JSONField(default=dict)),
                ("status", models.CharField(default="queued", max_length=12)),
                ("stop_asked", models.BooleanField(default=False)),
                ("discard", models.BooleanField(default=False)),
                ("text", models.TextField(blank=True)),
                ("chunk", models.IntegerField(default=0)),
                ("note", models.CharField(blank=True, max_length=200)),
                ("usage", models.JSONField(default=dict)),
                ("finish", models.CharField(blank=True, max_length=80)),
                ("error", models.JSONField(null=True)),
                ("leased_until", models.DateTimeField(null=True)),
                ("lease", models.CharField(blank=True, max_length=32)),
                ("tries", models.IntegerField(default=0)),
                ("lane", models.CharField(blank=True, max_length=64)),
                ("rank", models.BigIntegerField(default=0)),
                ("prices", models.JSONField(null=True)),
                ("reading", models.IntegerField(default=0)),
                ("reserved", models.BigIntegerField(default=0)),
                ("spent", models.BigIntegerField(null=True)),
                ("day", models.DateField(null=True)),
                ("tokens_in", models.IntegerField(default=0)),
                ("tokens_out", models.IntegerField(default=0)),
                ("tokens_cached", models.IntegerField(default=0)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("ended_at", models.DateTimeField(null=True)),
                (
                    "call",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="generations",
                        to="loom.call",
                    ),
                ),
                (
                    "document",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to="loom.document",
                    ),
                ),
                (
                    "node",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="loom.node",
                    ),
                ),
                (
                    "point",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="loom.node",
                    ),
                ),
                (
                    "asked_by",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="loom.participant",
                    ),
                ),
                (
                    "participant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="generations",
                        to="loom.participant",
                    ),
                ),
                (
                    "payer",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="loom.participant",
                    ),
                ),
                (
                    "tree",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="generations",
                        to="loom.tree",
                    ),
                ),
            ],
            options={
                "ordering": ["id"],
                "indexes": [
                    models.Index(
                        condition=models.Q(("ended_at__isnull", True)),
                        fields=["status"],
                        name="generation_open",
                    ),
                    models.Index(
                        condition=models.Q(("ended_at__isnull", True)),
                        fields=["lane", "rank", "id"],
                        name="generation_in_lane",
                    ),
                    models.Index(
                        condition=models.Q(("ended_at__isnull", True)),
                        fields=["payer", "day"],
                        name="generation_unpaid",
                    ),
                    models.Index(
                        condition=models.Q(("document__isnull", False)),
                        fields=["document", "id"],
                        name="generation_of_document",
                    ),
                ],
            },
        ),
        migrations.AddField(
            model_name="call",
            name="tree",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="calls", to="loom.tree"
            ),
        ),
        migrations.CreateModel(
            name="BranchSettings",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("settings", models.JSONField(default=dict)),
                ("at", models.DateTimeField()),
                (
                    "slot",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="loom.node",
                    ),
                ),
                (
                    "by",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, to="loom.participant"
                    ),
                ),
                (
                    "tree",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="branch_settings",
                        to="loom.tree",
                    ),
                ),
            ],
            options={
                "ordering": ["id"],
                "constraints": [
                    models.UniqueConstraint(fields=("slot",), name="branch_settings_once")
                ],
            },
        ),
        migrations.CreateModel(
            name="Turn",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                (
                    "uid",
                    models.CharField(
                        default=loom.models.base.new_uid, editable=False, max_length=32, unique=True
                    ),
                ),
                ("form", models.CharField(default="continuation", max_length=12)),
                ("status", models.CharField(default="queued", max_length=12)),
                ("stop_asked", models.BooleanField(default=False)),
                ("preset", models.CharField(max_length=12)),
                ("scope", models.CharField(default="owner", max_length=8)),
                ("prepared", models.JSONField(null=True)),
                ("more_steps", models.IntegerField(default=0)),
                ("extension", models.JSONField(null=True)),
                ("round", models.IntegerField(default=0)),
                ("rounds", models.JSONField(default=list)),
                ("replies", models.JSONField(default=list)),
                ("waits_for", models.JSONField(default=list)),
                ("is_concluding", models.BooleanField(default=False)),
                ("tokens", models.IntegerField(default=0)),
                ("finish", models.CharField(blank=True, max_length=80)),
                ("error", models.JSONField(null=True)),
                ("lease", models.CharField(blank=True, max_length=32)),
                ("leased_until", models.DateTimeField(null=True)),
                ("moved_at", models.DateTimeField(auto_now_add=True)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("ended_at", models.DateTimeField(null=True)),
                (
                    "answers_below",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="loom.node",
                    ),
                ),
                (
                    "generation",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="loom.generation",
                    ),
                ),
                (
                    "input_node",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="loom.node",
                    ),
                ),
                (
                    "invoked_at",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="loom.node",
                    ),
                ),
                (
                    "invoked_by",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="loom.participant",
                    ),
                ),
                (
                    "node",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="loom.node",
                    ),
                ),
                (
                    "participant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="turns",
                        to="loom.participant",
                    ),
                ),
                (
                    "tree",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="turns",
                        to="loom.tree",
                    ),
                ),
            ],
            options={
                "ordering": ["id"],
                "indexes": [
                    models.Index(
                        condition=models.Q(("ended_at__isnull", True)),
                        fields=["status"],
                        name="turn_open",
                    )
                ],
            },
        ),
        migrations.AddField(
            model_name="generation",
            name="turn",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="generations",
                to="loom.turn",
            ),
        ),
        migrations.AddField(
            model_name="call",
            name="turn",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="calls",
                to="loom.turn",
            ),
        ),
        migrations.CreateModel(
            name="UserSession",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("session_key", models.CharField(max_length=40, unique=True)),
                ("uid", models.CharField(max_length=32, unique=True)),
                ("agent", models.CharField(blank=True, max_length=200)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("seen_at", models.DateTimeField(auto_now=True)),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="browsers",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "ordering": ["-seen_at", "-id"],
            },
        ),
        migrations.CreateModel(
            name="Workspace",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                (
                    "uid",
                    models.CharField(
                        default=loom.models.base.new_uid, editable=False, max_length=32, unique=True
                    ),
                ),
                ("revision", models.IntegerField(default=0)),
                ("steps_made", models.IntegerField(default=0)),
                ("checkpoint", models.IntegerField(default=0)),
                ("outline", models.JSONField(default=dict)),
                ("augments", models.JSONField(default=dict)),
                ("settings", models.JSONField(default=dict)),
                ("made_at", models.DateTimeField(auto_now_add=True)),
                ("seen_seq", models.BigIntegerField(default=0)),
                ("seen_at", models.DateTimeField(null=True)),
                (
                    "last_used",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to="loom.participant",
                    ),
                ),
                (
                    "participant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="workspaces",
                        to="loom.participant",
                    ),
                ),
                (
                    "position",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="loom.node",
                    ),
                ),
                (
                    "tree",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="workspaces",
                        to="loom.tree",
                    ),
                ),
            ],
            options={
                "ordering": ["id"],
                "constraints": [
                    models.UniqueConstraint(fields=("participant", "tree"), name="workspace_once")
                ],
            },
        ),
        migrations.CreateModel(
            name="Window",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("number", models.IntegerField()),
                ("kind", models.CharField(max_length=8)),
                ("version_seen", models.CharField(blank=True, max_length=64)),
                ("first", models.IntegerField(default=0)),
                ("last", models.IntegerField(default=0)),
                ("text", models.TextField(blank=True)),
                ("label", models.CharField(blank=True, max_length=200)),
                ("turn_uid", models.CharField(blank=True, max_length=32)),
                ("is_visible", models.BooleanField(default=True)),
                ("is_kept", models.BooleanField(default=False)),
                ("is_extended", models.BooleanField(default=False)),
                ("is_closed", models.BooleanField(default=False)),
                ("opened_at", models.DateTimeField()),
                ("form", models.CharField(blank=True, max_length=8)),
                ("place", models.CharField(blank=True, max_length=200)),
                ("pad", models.SmallIntegerField(default=0)),
                ("is_live", models.BooleanField(default=False)),
                ("query", models.CharField(blank=True, max_length=500)),
                ("score", models.FloatField(null=True)),
                ("via", models.CharField(blank=True, max_length=40)),
                ("parent_number", models.IntegerField(default=0)),
                ("nodes", models.JSONField(default=list)),
                ("shown_step", models.IntegerField(default=0)),
                (
                    "item",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="loom.item",
                    ),
                ),
                (
                    "step",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="loom.step",
                    ),
                ),
                (
                    "workspace",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="windows",
                        to="loom.workspace",
                    ),
                ),
            ],
            options={
                "ordering": ["number"],
                "indexes": [
                    models.Index(
                        condition=models.Q(("is_visible", True)),
                        fields=["workspace", "number"],
                        name="window_visible",
                    ),
                    models.Index(fields=["workspace", "kind", "number"], name="window_kind"),
                    models.Index(
                        condition=models.Q(("parent_number__gt", 0)),
                        fields=["workspace", "turn_uid"],
                        name="window_nested",
                    ),
                    models.Index(fields=["step"], name="window_step"),
                    models.Index(fields=["item"], name="window_item"),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("workspace", "number"), name="window_number_once"
                    ),
                    models.UniqueConstraint(
                        models.F("workspace"),
                        django.db.models.functions.text.Lower("label"),
                        condition=models.Q(("is_closed", False), ("kind", "stash")),
                        name="stash_label_once",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="WebSearch",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                (
                    "uid",
                    models.CharField(
                        default=loom.models.base.new_uid, editable=False, max_length=32, unique=True
                    ),
                ),
                ("seq", models.IntegerField()),
                ("turn_uid", models.CharField(blank=True, max_length=32)),
                ("asks", models.JSONField(default=dict)),
                ("status", models.CharField(default="queued", max_length=8)),
                ("error", models.JSONField(null=True)),
                ("day", models.DateField()),
                ("spent", models.BigIntegerField(default=0)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("begun_at", models.DateTimeField(null=True)),
                ("ended_at", models.DateTimeField(null=True)),
                (
                    "payer",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="loom.participant",
                    ),
                ),
                (
                    "workspace",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="web_searches",
                        to="loom.workspace",
                    ),
                ),
            ],
            options={
                "ordering": ["id"],
                "indexes": [
                    models.Index(
                        condition=models.Q(("ended_at__isnull", True)),
                        fields=["created_at"],
                        name="web_search_open",
                    )
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("workspace", "seq"), name="web_search_of_a_step"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="VersionChoice",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "node",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="loom.node",
                    ),
                ),
                (
                    "slot",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="loom.node",
                    ),
                ),
                (
                    "workspace",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="choices",
                        to="loom.workspace",
                    ),
                ),
            ],
            options={
                "ordering": ["id"],
                "constraints": [
                    models.UniqueConstraint(fields=("workspace", "slot"), name="choice_once")
                ],
            },
        ),
        migrations.CreateModel(
            name="Task",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("number", models.IntegerField()),
                ("text", models.TextField()),
                ("state", models.CharField(default="unchecked", max_length=9)),
                ("place", models.IntegerField(default=0)),
                ("notes", models.JSONField(default=list)),
                ("is_removed", models.BooleanField(default=False)),
                ("made_at", models.DateTimeField()),
                (
                    "workspace",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="tasks",
                        to="loom.workspace",
                    ),
                ),
            ],
            options={
                "ordering": ["place", "number"],
                "indexes": [
                    models.Index(
                        condition=models.Q(("is_removed", False)),
                        fields=["workspace", "state", "number"],
                        name="task_listed",
                    )
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("workspace", "number"), name="task_number_once")
                ],
            },
        ),
        migrations.AddField(
            model_name="step",
            name="workspace",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="steps",
                to="loom.workspace",
            ),
        ),
        migrations.CreateModel(
            name="Draft",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("kind", models.CharField(max_length=6)),
                ("text", models.TextField()),
                ("at", models.DateTimeField()),
                ("told_at", models.DateTimeField()),
                (
                    "slot",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="loom.node",
                    ),
                ),
                (
                    "workspace",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="drafts",
                        to="loom.workspace",
                    ),
                ),
            ],
            options={
                "ordering": ["id"],
                "indexes": [models.Index(fields=["slot", "kind"], name="draft_at_slot")],
                "constraints": [
                    models.UniqueConstraint(fields=("workspace", "slot", "kind"), name="draft_once")
                ],
            },
        ),
        migrations.CreateModel(
            name="DocumentView",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("revision", models.IntegerField()),
                (
                    "document",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="loom.document",
                    ),
                ),
                (
                    "workspace",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="documents",
                        to="loom.workspace",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("workspace", "document"), name="document_view_once"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="DocumentEmbed",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("name", models.CharField(max_length=8)),
                (
                    "document",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="embeds",
                        to="loom.document",
                    ),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["name", "document"], name="document_embed_name")],
                "constraints": [
                    models.UniqueConstraint(fields=("document", "name"), name="document_embed_once")
                ],
            },
        ),
        migrations.AddConstraint(
            model_name="document",
            constraint=models.UniqueConstraint(
                fields=("grove", "title_key"), name="document_title_once"
            ),
        ),
        migrations.AddIndex(
            model_name="node",
            index=models.Index(
                condition=models.Q(("pruned", True)), fields=["tree"], name="node_pruned"
            ),
        ),
        migrations.AddIndex(
            model_name="node",
            index=models.Index(
                condition=models.Q(("kind", "text"), ("pruned", False), ("slot", models.F("id"))),
                fields=["tree", "depth", "id"],
                name="node_by_depth",
            ),
        ),
        migrations.AddConstraint(
            model_name="node",
            constraint=models.UniqueConstraint(fields=("tree", "local_id"), name="local_id_once"),
        ),
        migrations.AddIndex(
            model_name="step",
            index=models.Index(fields=["workspace", "at"], name="step_by_time"),
        ),
        migrations.AddConstraint(
            model_name="step",
            constraint=models.UniqueConstraint(fields=("workspace", "seq"), name="step_seq_once"),
        ),
        migrations.AddConstraint(
            model_name="step",
            constraint=models.UniqueConstraint(
                condition=models.Q(("workspace__isnull", True)),
                fields=("stream", "seq"),
                name="step_of_stream_once",
            ),
        ),
        # The extension, indexes of texts and triggers that models cannot state.
        migrations.RunPython(search.forward, search.back),
        migrations.RunPython(trigrams.forward, trigrams.back),
        migrations.RunPython(guard.forward, guard.back),
    ]
