"""The page of versions and facts: with the keyboard, on a phone, in print, without scripts or a network."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "compatibility.html"
DESKTOP, PHONE = {"width": 1400, "height": 1000}, {"width": 390, "height": 844}
FACT = "claude-failure-exit-1-outcome"
# How much each text stands out from its ground (WCAG 2, contrast ratio).
CONTRASTS = """() => {
  const part = (x) => (x /= 255) <= .03928 ? x / 12.92 : ((x + .055) / 1.055) ** 2.4;
  const light = (c) => .2126 * part(c[0]) + .7152 * part(c[1]) + .0722 * part(c[2]);
  const parse = (text) => text.match(/[0-9.]+/g).map(Number);
  const ground = (element) => {
    for (; element; element = element.parentElement) {
      const colour = parse(getComputedStyle(element).backgroundColor);
      if (colour.length < 4 || colour[3]) return colour;
    }
    return [255, 255, 255];
  };
  return [...document.querySelectorAll(".sign, button, p, thead th, a, td[class]")].map((element) => {
    const pair = [light(parse(getComputedStyle(element).color)), light(ground(element))];
    return (Math.max(...pair) + .05) / (Math.min(...pair) + .05);
  });
}"""


@pytest.fixture
def opened(browser):
    """A page; any request but for the file itself, and any error of a script, fails the test."""
    made, wrong = [], []

    def open_(**settings):
        context = browser.new_context(**{"viewport": DESKTOP, **settings})
        made.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("console", lambda said: wrong.append(said.text) if said.type == "error" else None)
        page.on(
            "request",
            lambda asked: None if asked.url.startswith(("file:", "data:")) else wrong.append(asked.url),
        )
        page.goto(PAGE.as_uri())
        return page

    yield open_
    for context in made:
        context.close()
    assert wrong == []


def shot(page, name):
    if folder := os.environ.get("ANVIL_SCREENSHOTS"):
        page.screenshot(path=f"{folder}/{name}.png")


def test_a_row_opens_with_the_keyboard_and_closes_again(opened):
    page = opened()
    button = page.locator(f"button[aria-controls={FACT}]")
    button.focus()
    page.keyboard.press("Enter")
    details = page.locator(f"#{FACT}")
    assert details.is_visible()
    assert button.get_attribute("aria-expanded") == "true"
    said = details.inner_text()
    assert "Exit code 1 blocks" in said
    assert 'failure.exit-1:outcome = "blocked"' in said
    assert '2.1.121 to 2.1.294: "ran"' in said
    assert "onFailure: block" in said
    shot(page, "desktop-open")
    page.keyboard.press("ArrowDown")
    assert (
        page.evaluate("document.activeElement.textContent.replace(/\\u200b/, '')")
        == "failure.exit-1-bypass:outcome"
    )
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Space")
    assert not details.is_visible()


def test_every_row_can_be_reached_by_tab_and_shows_where_one_is(opened):
    page = opened()
    seen = []
    for _ in range(12):
        page.keyboard.press("Tab")
        seen.append(page.evaluate("document.activeElement.tagName"))
        outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert outline != "none"
    assert seen[:3] == ["A", "INPUT", "INPUT"]
    assert seen.count("BUTTON") >= 7


def test_the_boxes_choose_the_rows(opened):
    page = opened()
    visible = (
        "[...document.querySelectorAll('tr.ours, tr.other')].filter(r => r.offsetParent !== null).length"
    )
    relied = page.evaluate(visible)
    page.get_by_label("only what Anvil relies on").uncheck()
    everything = page.evaluate(visible)
    page.get_by_label("only what changed").check()
    changed = page.evaluate(visible)
    page.get_by_label("only what Anvil relies on").check()
    both = page.evaluate(visible)
    assert 100 < relied < everything
    assert 0 < both < min(relied, changed)
    assert everything > 700
    shot(page, "desktop-changed")


def test_no_sign_is_told_by_colour_alone(opened):
    page = opened()
    signs = page.evaluate(
        "Object.fromEntries("
        "[...document.querySelectorAll('td[class]')].map((cell) => [cell.className, cell.textContent]))"
    )
    legend = page.evaluate(
        "[...document.querySelectorAll('.sign')].map(s => [s.className.split(' ')[1], s.textContent])"
    )
    assert set(signs.items()) <= {tuple(pair) for pair in legend}
    assert len(set(signs.values())) == len(signs)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_its_ground(opened, scheme):
    page = opened(color_scheme=scheme)
    shot(page, f"desktop-{scheme}")
    ratios = page.evaluate(CONTRASTS)
    assert min(ratios) >= 4.5


def test_on_a_phone_only_the_table_scrolls_and_the_facts_stay(opened):
    page = opened(viewport=PHONE, has_touch=True, is_mobile=True)
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    head = page.locator(f"button[aria-controls={FACT}]")
    head.scroll_into_view_if_needed()
    head.tap()
    box = page.locator(f"#{FACT} div").bounding_box()
    assert box["width"] <= PHONE["width"]
    shot(page, "phone-open")
    left = head.bounding_box()["x"]
    page.evaluate("document.querySelectorAll('.scroll')[0].scrollLeft = 10000")
    top = page.locator("thead th").nth(3).bounding_box()["y"]
    assert top == pytest.approx(page.locator(".scroll").first.bounding_box()["y"], abs=2)  # the versions stay
    assert head.bounding_box()["x"] == pytest.approx(left, abs=1)
    shot(page, "phone-scrolled")
    page.evaluate("scrollTo(0, 0)")
    shot(page, "phone")


def test_in_print_the_table_fits_and_open_rows_are_printed(opened, tmp_path):
    page = opened()
    page.locator(f"button[aria-controls={FACT}]").click()
    page.emulate_media(media="print")
    assert not page.locator("fieldset").is_visible()
    assert page.locator(f"#{FACT}").is_visible()
    page.set_viewport_size({"width": 1050, "height": 750})  # A4 across, without its margins
    wide = page.evaluate("Math.max(...[...document.querySelectorAll('table')].map(t => t.scrollWidth))")
    assert wide <= 1050
    shot(page, "print")
    assert page.pdf(format="A4", landscape=True).startswith(b"%PDF")


def test_without_scripts_the_table_is_all_there(opened):
    page = opened(java_script_enabled=False)
    assert page.locator("button[aria-controls]").count() > 700
    assert page.locator(f"button[aria-controls={FACT}]").is_visible()
