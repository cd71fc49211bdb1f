"""Where credentials are read: by default, by the manifest's word, and what is wrong with that."""

from __future__ import annotations

import json

import pytest

from anvil_generator import credentials
from anvil_generator.approvals import fingerprint
from anvil_generator.bundle import plan

OK = {"responses": {"200": {"description": "ok"}}}
PATHS = {
    "/a": {"get": {"operationId": "getA", "security": [{"key": []}], **OK}},
    "/b": {"get": {"operationId": "getB", "security": [{"login": []}, {"grant": ["write", "read"]}], **OK}},
    "/c": {"get": {"operationId": "getC", "security": [{"grant": ["admin"]}], **OK}},
    "/d": {"get": {"operationId": "getD", **OK}},
    "/e": {"get": {"operationId": "getE", "security": [], **OK}},
}
SCHEMES = {
    "key": {"type": "apiKey", "in": "header", "name": "X-Key"},
    "login": {"type": "http", "scheme": "basic"},
    "grant": {"type": "oauth2", "flows": {"clientCredentials": {"tokenUrl": "/oauth2/token", "scopes": {}}}},
}
CODE = {
    "type": "oauth2",
    "flows": {"authorizationCode": {"authorizationUrl": "/a", "tokenUrl": "/t", "scopes": {}}},
}


@pytest.fixture
def made(project, compiled):
    """A function: what is compiled of the paths, with a manifest and these schemes."""

    def make(manifest="", schemes=SCHEMES, paths=PATHS, **top):
        return compiled(project(paths, manifest, components={"securitySchemes": schemes}, **top))

    return make


@pytest.fixture
def wrong(project, problems):
    """A function: the problems of a manifest."""

    def make(manifest, schemes=SCHEMES):
        return problems(project(PATHS, manifest, components={"securitySchemes": schemes}))

    return make


def sources(compiled):
    return {scheme.id: credentials.words(scheme) for scheme in compiled.air.service.auth}


def auth(compiled):
    return {operation.title: operation.auth for operation in compiled.air.operations}


def test_the_usual_variables(made):
    assert sources(made()) == {
        "key": "PETS_KEY",
        "login": "PETS_LOGIN_USERNAME and PETS_LOGIN_PASSWORD",
        "grant": "PETS_GRANT_CLIENT_ID and PETS_GRANT_CLIENT_SECRET",
    }


def test_two_schemes_that_are_spelled_alike_have_a_variable_each(made):
    schemes = dict.fromkeys(("api-key", "api_key", "APIKey", "läßt"), SCHEMES["key"])
    paths = {"/a": {"get": {"security": [{name: [] for name in schemes}], **OK}}}
    assert sorted(sources(made(schemes=schemes, paths=paths)).values()) == [
        "PETS_API_KEY", "PETS_API_KEY_2", "PETS_API_KEY_3", "PETS_L_T"
    ]  # fmt: skip


def test_what_the_manifest_says(made):
    manifest = """
credentials:
  key: {file: ~/.config/pets/key}
  login: {username: {env: PETS_NAME}, password: {file: /etc/pets/password}}
  grant: {client_id: {env: ID}, client_secret: {env: SECRET}, client_auth: client_secret_post}
loopback_credentials: true
"""
    compiled = made(manifest)
    assert sources(compiled) == {
        "key": "the file ~/.config/pets/key",
        "login": "PETS_NAME and the file /etc/pets/password",
        "grant": "ID and SECRET",
    }
    token = {scheme.id: scheme for scheme in compiled.air.service.auth}["grant"].token
    assert (str(token.origin), token.path, token.client) == (
        "https://api.pets.example",
        "/oauth2/token",
        "post",
    )
    assert compiled.air.service.loopback_credentials
    assert credentials.variables(compiled.air) == ["ID", "PETS_NAME", "SECRET"]


def test_a_key_as_a_user_alone_and_an_access_token_from_elsewhere(made):
    compiled = made("credentials:\n  login: {username: {env: ONE}}\n  grant: {env: TWO}\n")
    assert sources(compiled) == {"key": "PETS_KEY", "login": "ONE", "grant": "TWO"}


def test_scopes_are_those_that_the_document_asks_for_the_operation(made):
    compiled = made()
    scopes = {operation.title: operation.scopes for operation in compiled.air.operations if operation.scopes}
    assert scopes == {"getB": {"grant": ("read", "write")}, "getC": {"grant": ("admin",)}}


class TestWhichOperations:
    def test_the_documents_word(self, made):
        assert auth(made()) == {
            "getA": (("key",),),
            "getB": (("login",), ("grant",)),
            "getC": (("grant",),),
            "getD": (),
            "getE": (),
        }

    def test_the_manifests_where_the_document_says_none(self, made):
        found = auth(made("auth: [[key], [login, key]]\n"))
        assert found["getD"] == found["getE"] == (("key",), ("login", "key"))
        assert found["getA"] == (("key",),)

    def test_the_manifests_for_one_operation(self, made):
        manifest = (
            "auth: [[key]]\noperations:\n  getA: {auth: [[login]]}\n  getC: {auth: []}\n  getD: {auth: []}\n"
        )
        compiled = made(manifest)
        found = auth(compiled)
        assert (found["getA"], found["getC"], found["getD"], found["getE"]) == (
            (("login",),),
            (),
            (),
            (("key",),),
        )
        assert not [one for one in compiled.air.operations if one.title == "getC" and one.scopes]

    def test_it_is_part_of_what_was_reviewed(self, made):
        def marks(manifest):
            compiled = made(manifest)
            return {one.title: fingerprint(one, compiled.air.service) for one in compiled.air.operations}

        plain = marks("")
        for manifest, changed in {
            "auth: [[key]]\n": {"getD", "getE"},
            "operations:\n  getC: {auth: [[key]]}\n": {"getC"},
            "credentials:\n  key: {env: OTHER}\n": {"getA"},
            "credentials:\n  grant: {env: OTHER}\n": {"getB", "getC"},
            "loopback_credentials: true\n": set(plain),
        }.items():
            now = marks(manifest)
            assert {name for name in now if now[name] != plain[name]} == changed, manifest

    def test_what_is_said_counts_for_approvals_of_the_same_document(self, made):
        words = {one.operation.title: one.said for one in made("auth: [[key]]\n").contracted}
        assert [name for name in words if "auth" in words[name]] == ["getD", "getE"]


@pytest.mark.parametrize(
    ("manifest", "line", "message"),
    [
        ("credentials:\n  kee: {env: A}\n", 5, 'no security scheme "kee"; did you mean "key"?'),
        ("credentials:\n  key: {env: A, file: /a}\n", 5, "give one of env and file"),
        ("credentials:\n  key: {}\n", 5, "this scheme takes env or file"),
        ("credentials:\n  key: {username: {env: A}}\n", 5, "this scheme takes env or file"),
        ("credentials:\n  key: {env: LD_PRELOAD}\n", 5, "LD_PRELOAD steers programs"),
        ("credentials:\n  key: {file: key}\n", 5, "'key' is relative"),
        ("credentials:\n  key: {value: abc}\n", 5, "this key is not known"),
        ("credentials:\n  key: abc\n", 5, "must be a mapping"),
        ("credentials:\n  login: {env: A}\n", 5, "takes username and password, or username"),
        (
            "credentials:\n  login:\n    username: {env: A}\n    password: {env: PATH}\n",
            7,
            "PATH steers programs",
        ),
        ("credentials:\n  login: {password: {env: A}}\n", 5, "takes username and password"),
        (
            "credentials:\n  grant: {client_id: {env: A}}\n",
            5,
            "takes client_id and client_secret, or env or file",
        ),
        ("auth: [[kee]]\n", 4, 'no security scheme "kee"'),
        ("auth: [key]\n", 4, "auth.0"),
        ("operations:\n  getA: {auth: [[nobody]]}\n", 5, 'no security scheme "nobody"'),
    ],
)
def test_a_manifest_that_is_wrong(wrong, manifest, line, message):
    [problem] = wrong(manifest)
    assert f"anvil.yaml:{line}: error: " in problem
    assert message in problem


class TestWhatCannotBeUsed:
    def approved(self, made, schemes, security, **top):
        """The warnings about the credentials of an approved operation."""
        paths = {"/a": {"get": {"operationId": "getA", "security": security, **OK}}}
        compiled = made(schemes=schemes, paths=paths, **top)
        return [
            str(one)
            for one in credentials.warnings(compiled.air.service, list(compiled.air.operations), "api.json")
        ]

    @pytest.mark.parametrize(
        ("scheme", "kind"),
        [
            ({"type": "openIdConnect", "openIdConnectUrl": "https://x.example"}, "openid"),
            ({"type": "mutualTLS"}, "mutual_tls"),
            ({"type": "http", "scheme": "digest"}, "digest"),
            ({"type": "apiKey", "in": "header", "name": "Host"}, "api_key"),
            ({"type": "apiKey", "in": "header", "name": "Content-Type"}, "api_key"),
            ({"type": "apiKey", "in": "header", "name": "a b"}, "api_key"),
            ({"type": "apiKey", "in": "cookie", "name": "a;b"}, "api_key"),
            ({"type": "apiKey", "in": "query", "name": "_method"}, "api_key"),
        ],
    )
    def test_it_is_said(self, made, scheme, kind):
        [said] = self.approved(made, {"one": scheme}, [{"one": []}])
        assert f"(get_a) need credentials that Anvil cannot use ({kind}): they answer auth_required" in said
        assert "credentials_unsupported" in said

    def test_not_where_another_way_is_open(self, made):
        schemes = {"one": {"type": "mutualTLS"}, "key": SCHEMES["key"]}
        assert self.approved(made, schemes, [{"one": []}, {"key": []}]) == []
        assert self.approved(made, schemes, [{"one": []}, {}]) == []
        assert len(self.approved(made, schemes, [{"one": [], "key": []}])) == 1

    def test_two_in_one_header(self, made):
        schemes = {"login": SCHEMES["login"], "key": {**SCHEMES["key"], "name": "authorization"}}
        [said] = self.approved(made, schemes, [{"login": [], "key": []}])
        assert "(two of them in one header)" in said
        assert self.approved(made, schemes, [{"login": [], "key": []}, {"key": []}]) == []

    def test_a_word_about_it_in_the_manifest(self, wrong):
        [problem] = wrong("credentials:\n  tls: {env: A}\n", {**SCHEMES, "tls": {"type": "mutualTLS"}})
        assert "of the kind mutual_tls is not supported" in problem

    def test_another_flow_takes_an_access_token(self, made):
        paths = {"/a": {"get": {"security": [{"code": []}], **OK}}}
        assert sources(made(schemes={"code": CODE}, paths=paths)) == {"code": "PETS_CODE"}

    def test_an_api_without_encryption(self, made):
        servers = [{"url": "http://api.pets.example"}]
        [said] = self.approved(made, {"key": SCHEMES["key"]}, [{"key": []}], servers=servers)
        assert "without encryption" in said

    @pytest.mark.parametrize(
        ("url", "where"),
        [
            ("https://login.example/a/token", "https://login.example/a/token"),
            ("https://login.example:8443/token/", "https://login.example:8443/token/"),
            ("http://127.0.0.1:9/token", "http://127.0.0.1:9/token"),
            ("/token", "https://api.pets.example/token"),
            ("token", "https://api.pets.example/v1/token"),
            ("http://login.example/token", None),
            ("https://login.example/token?x=1", None),
            ("https://me@login.example/token", None),
            ("https://login.example/a/../token", None),
            ("", None),
            (5, None),
        ],
    )
    def test_the_token_url_is_pinned_or_not_used(self, made, url, where):
        scheme = {"type": "oauth2", "flows": {"clientCredentials": {"tokenUrl": url, "scopes": {}}}}
        paths = {"/a": {"get": {"security": [{"grant": []}], **OK}}}
        compiled = made(schemes={"grant": scheme}, paths=paths)
        token = compiled.air.service.auth[0].token
        assert (f"{token.origin}{token.path}" if token else None) == where
        assert ("token_url_unusable" in str(compiled.problems)) is (where is None)


def test_what_the_bundle_says(made):
    compiled = made("credentials:\n  key: {file: ~/key}\n")
    files = {file.path: file.data.decode() for file in plan(compiled)}
    assert "| `key` | the file ~/key |" in files["README.md"]
    assert "| `login` | PETS_LOGIN_USERNAME and PETS_LOGIN_PASSWORD |" in files["README.md"]
    passed = [json.loads(text) for path, text in files.items() if path.endswith("mcp.json")]
    named = [server.get("env_vars") for one in passed for server in one["mcpServers"].values()]
    assert ["ANVIL_BASE_URL", *credentials.variables(compiled.air)] in named


def test_inspect_tells(cli, project):
    folder = project(PATHS, "credentials:\n  key: {env: MY_KEY}\n", components={"securitySchemes": SCHEMES})
    assert "credential: key: MY_KEY\n" in cli("inspect", folder).stdout
    assert json.loads(cli("inspect", folder, "--json").stdout)["credentials"]["key"] == "MY_KEY"
