"""Strategies of API documents: mostly as they should be, any part of them now and then something else."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace")
NAMES = st.sampled_from(
    ["id", "name", "Pet", "a b", "x-y", "ä", "confirm", "limit", "a/b~c", "$ref", "", "Host"]
)
TEXTS = st.one_of(NAMES, st.text(max_size=8), st.sampled_from(["\ud83d\ude00", "line\nbreak", "#/x", "*/*"]))
JUNK: st.SearchStrategy[Any] = st.one_of(
    st.sampled_from([None, True, False, 0, -1, 1.5, 10**30, "", "x", [], {}, ["x"], {"$ref": 7}, [[]], [{}]]),
    st.sampled_from([{"$ref": "#/gone"}, {"$ref": "other.yaml#/a"}, {"$ref": "https://example.com/a"}]),
    st.recursive(
        st.one_of(st.none(), st.booleans(), st.integers(), TEXTS),
        lambda child: st.lists(child, max_size=2) | st.dictionaries(TEXTS, child, max_size=2),
        max_leaves=4,
    ),
)
SCHEMA_NAMES = ("A", "B", "C")
REFERENCES = {
    "3": [f"#/components/schemas/{name}" for name in SCHEMA_NAMES],
    "2": [f"#/definitions/{name}" for name in SCHEMA_NAMES],
}


@st.composite
def sound(draw: st.DrawFn, strategy: st.SearchStrategy[Any]) -> Any:
    """What the strategy gives, and junk in one case of forty."""
    return draw(JUNK) if draw(st.integers(0, 39)) == 17 else draw(strategy)


def some(fields: dict[str, st.SearchStrategy[Any]], *needed: str) -> st.SearchStrategy[dict[str, Any]]:
    """An object with the needed fields and some of the others."""
    made = {key: sound(value) for key, value in fields.items()}
    return st.fixed_dictionaries(
        {key: made[key] for key in needed},
        optional={key: value for key, value in made.items() if key not in needed},
    )


def schemas(version: str) -> st.SearchStrategy[Any]:
    references = st.sampled_from(REFERENCES[version[0]]).map(lambda one: {"$ref": one})
    plain = some(
        {
            "type": st.sampled_from(
                ["string", "integer", "number", "boolean", "array", "object", "null", "file"]
            )
            | st.lists(st.sampled_from(["string", "null", "object"]), max_size=2),
            "format": st.sampled_from(["int32", "date", "uuid", "binary", "odd"]),
            "enum": st.lists(st.one_of(st.integers(), TEXTS, st.none()), max_size=3),
            "const": st.one_of(TEXTS, st.integers()),
            "default": JUNK,
            "example": JUNK,
            "pattern": st.sampled_from(["^a+$", "(", "(?<=a)b", "\\d{2}", "[", "(?i)x"]),
            "minimum": st.integers(-5, 5),
            "exclusiveMinimum": st.booleans() | st.integers(-5, 5),
            "maxLength": st.integers(-1, 5),
            "nullable": st.booleans(),
            "readOnly": st.booleans(),
            "writeOnly": st.booleans(),
            "required": st.lists(NAMES, max_size=2),
            "description": TEXTS,
            "x-odd": JUNK,
            "$id": st.sampled_from(["https://example.com/a", "b", "#c"]),
            "$anchor": st.sampled_from(["here", "there"]),
            "$dynamicRef": st.just("#here"),
        }
    )

    def around(child: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
        lists = st.lists(sound(child), min_size=0, max_size=2)
        maps = st.dictionaries(NAMES, sound(child), max_size=3)
        return some(
            {
                "type": st.sampled_from(["array", "object"]),
                "items": child | lists,
                "properties": maps,
                "patternProperties": maps,
                "additionalProperties": child | st.booleans(),
                "allOf": lists,
                "oneOf": lists,
                "anyOf": lists,
                "not": child,
                "prefixItems": lists,
                "$defs": maps,
                "nullable": st.booleans(),
                "required": st.lists(NAMES, max_size=2),
                "discriminator": some({"propertyName": NAMES, "mapping": JUNK}),
            }
        )

    return st.recursive(st.one_of(plain, references, st.booleans()), around, max_leaves=5)


MEDIA_TYPES = st.sampled_from(
    [
        "application/json",
        "application/merge-patch+json",
        "application/x-www-form-urlencoded",
        "*/*",
        "multipart/form-data",
        "text/plain",
        "application/xml",
        "application/octet-stream",
        "odd",
        "",
        "Application/JSON; charset=utf-8",
    ]
)


def content(version: str) -> st.SearchStrategy[Any]:
    entry = some(
        {"schema": schemas(version), "example": JUNK, "encoding": st.dictionaries(NAMES, JUNK, max_size=1)}
    )
    return st.dictionaries(MEDIA_TYPES, sound(entry), max_size=2)


def parameters(version: str) -> st.SearchStrategy[Any]:
    fields: dict[str, st.SearchStrategy[Any]] = {
        "name": NAMES | st.sampled_from(["Idempotency-Key", "Content-Type", "X-Version", "_method"]),
        "in": st.sampled_from(["query", "header", "path", "cookie", "query"]),
        "required": st.booleans(),
        "description": TEXTS,
    }
    if version == "2.0":
        fields["in"] = st.sampled_from(["query", "header", "path", "formData", "body"])
        fields["type"] = st.sampled_from(["string", "integer", "array", "file", "boolean"])
        fields["items"] = schemas(version)
        fields["collectionFormat"] = st.sampled_from(["csv", "ssv", "tsv", "pipes", "multi"])
        fields["schema"] = schemas(version)
        needed: tuple[str, ...] = ("name", "in")
        references = st.just("#/parameters/P")
    else:
        fields["schema"] = schemas(version)
        fields["content"] = content(version)
        fields["style"] = st.sampled_from(
            ["form", "simple", "label", "matrix", "deepObject", "pipeDelimited"]
        )
        fields["explode"] = st.booleans()
        fields["allowReserved"] = st.booleans()
        needed = ("name", "in", "schema")
        references = st.just("#/components/parameters/P")
    return st.one_of(some(fields, *needed), some(fields, *needed), references.map(lambda one: {"$ref": one}))


def responses(version: str) -> st.SearchStrategy[Any]:
    fields = {"description": TEXTS, "schema": schemas(version), "headers": JUNK}
    if version != "2.0":
        fields["content"] = content(version)
    codes = st.sampled_from(["200", "201", "202", "204", "2XX", "404", "default", "x-odd"])
    return st.dictionaries(codes, sound(some(fields)), max_size=2)


_REQUIREMENT = st.dictionaries(st.sampled_from(["key", "app", "gone"]), st.lists(NAMES, max_size=1))
SECURITY = st.lists(sound(_REQUIREMENT), max_size=2)
SCHEMES = st.fixed_dictionaries(
    {},
    optional={
        "key": sound(
            some({"type": st.just("apiKey"), "name": NAMES, "in": st.sampled_from(["query", "header"])})
        ),
        "app": sound(
            some({"type": st.sampled_from(["oauth2", "http", "basic"]), "scheme": NAMES, "flows": JUNK})
        ),
    },
)


def operations(version: str) -> st.SearchStrategy[Any]:
    fields: dict[str, st.SearchStrategy[Any]] = {
        "operationId": st.one_of(NAMES, st.sampled_from(["getPet", "delete.pet", "a" * 90, "refund"])),
        "summary": TEXTS,
        "description": TEXTS,
        "tags": st.lists(TEXTS, max_size=2),
        "deprecated": st.booleans(),
        "parameters": st.lists(sound(parameters(version)), max_size=3),
        "responses": responses(version),
        "security": SECURITY,
        "x-odd": JUNK,
    }
    if version == "2.0":
        fields["consumes"] = fields["produces"] = st.lists(MEDIA_TYPES, max_size=2)
        fields["schemes"] = st.lists(st.sampled_from(["http", "https", "ws"]), max_size=1)
    else:
        fields["requestBody"] = some({"content": content(version), "required": st.booleans()}, "content")
        fields["servers"] = st.just([{"url": "https://api.example.com"}])
        fields["callbacks"] = JUNK
    return some(fields, "responses")


def path_items(version: str) -> st.SearchStrategy[Any]:
    methods = {method: operations(version) for method in METHODS}
    shared = st.lists(sound(parameters(version)), max_size=2)
    return some(
        {**methods, "parameters": shared, "summary": TEXTS, "$ref": st.just("#/x-items/I"), "x-odd": JUNK}
    )


PATHS = st.sampled_from(
    [
        *("/", "/pets", "/pets/{id}", "/a b", "/{id}/{name}", "/x#y", "/a/../b", "x-none", "/{}"),
        *("/pets/{id}/refund", "nope"),
    ]
)


@st.composite
def documents(draw: st.DrawFn) -> dict[str, Any]:
    """A document as data, of any of the three dialects."""
    version = draw(st.sampled_from(["3.0.3", "3.1.0", "2.0"]))
    named = st.fixed_dictionaries({name: sound(schemas(version)) for name in SCHEMA_NAMES})
    paths = st.dictionaries(PATHS, sound(path_items(version)), max_size=4)
    top: dict[str, Any] = {
        "info": draw(sound(some({"title": TEXTS, "version": TEXTS, "description": TEXTS}))),
        "paths": draw(sound(paths)),
        "security": draw(sound(SECURITY)),
        "x-items": draw(sound(st.fixed_dictionaries({"I": path_items(version)}))),
    }
    parameter = {"P": draw(sound(parameters(version)))}
    if version == "2.0":
        return {
            "swagger": version,
            **top,
            "host": draw(sound(st.sampled_from(["api.example.com", "", "a b"]))),
            "basePath": draw(sound(st.sampled_from(["/", "/v1", "v1/"]))),
            "definitions": draw(sound(named)),
            "parameters": parameter,
            "securityDefinitions": draw(sound(SCHEMES)),
        }
    return {
        "openapi": version,
        **top,
        "servers": draw(sound(st.just([{"url": "https://api.example.com/v1"}]))),
        "components": draw(
            sound(
                st.fixed_dictionaries(
                    {"schemas": named, "parameters": st.just(parameter), "securitySchemes": SCHEMES}
                )
            )
        ),
    }
