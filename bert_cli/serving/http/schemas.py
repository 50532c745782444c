"""JSON schemas that describe requests and responses."""

from bert_cli.base.json_files import JsonObject

Schema = JsonObject

TEXT: Schema = {"type": "string"}
NUMBER: Schema = {"type": "number"}
INTEGER: Schema = {"type": "integer"}
SWITCH: Schema = {"type": "boolean"}
ANYTHING: Schema = {}


def array(items: Schema, least: int = 0) -> Schema:
    """Return a schema for lists with `least` items or more."""
    schema: Schema = {"type": "array", "items": items}
    return schema | ({"minItems": least} if least else {})


def open_object_schema(required: tuple[str, ...] = (), **members: Schema) -> Schema:
    """Return a schema for objects with these members; they may have others."""
    schema: Schema = {"type": "object", "properties": members}
    return schema | ({"required": required} if required else {})


def closed_object_schema(required: tuple[str, ...] = (), **members: Schema) -> Schema:
    """Return a schema for objects with no other members than these."""
    return open_object_schema(required, **members) | {"additionalProperties": False}


def any_of(*schemas: Schema) -> Schema:
    """Return a schema for values that match one or more schemas."""
    return {"anyOf": schemas}


def nullable(schema: Schema) -> Schema:
    """Return a schema for values that may be null."""
    return any_of(schema, {"type": "null"})


def uniform_object_schema(values: Schema) -> Schema:
    """Return a schema for objects if all members have the same schema."""
    return {"type": "object", "additionalProperties": values}
