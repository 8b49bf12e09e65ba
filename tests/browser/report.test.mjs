// Opens reports in a real browser, from disk, and looks at them as a reader would.
//
//   MEREO_REPORTS  report files, separated by colons
//   MEREO_SHOTS    a folder for screenshots, if wanted
//   MEREO_CHROMIUM the browser, if it is not /usr/bin/chromium

import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { after, before, describe, test } from "node:test";
import { pathToFileURL } from "node:url";

import { chromium } from "playwright-core";

const reports = (process.env.MEREO_REPORTS ?? "").split(":").filter(Boolean).map((p) => resolve(p));
const shots = process.env.MEREO_SHOTS;
const widths = [360, 768, 1280];
const schemes = ["light", "dark"];

assert.ok(reports.length > 0, "MEREO_REPORTS names no report");
if (shots) mkdirSync(shots, { recursive: true });

let browser;
before(async () => {
  browser = await chromium.launch({
    executablePath: process.env.MEREO_CHROMIUM ?? "/usr/bin/chromium",
    args: [
      "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
      "--disable-background-networking", "--disable-component-update", "--disable-sync",
    ],
  });
});
after(() => browser?.close());

/** Opens a report; `troubles` gathers whatever the browser complains about or asks the network for. */
async function open(report, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  const page = await context.newPage();
  const troubles = [];
  // Without a graphics card, the browser's own says that it is slow.
  const own = (text) => text.includes("GL Driver Message");
  page.on("console", (m) => ["error", "warning"].includes(m.type()) && !own(m.text()) && troubles.push(`console: ${m.text()}`));
  page.on("pageerror", (e) => troubles.push(`page error: ${e.message}`));
  page.on("dialog", (d) => { troubles.push(`dialog: ${d.message()}`); d.dismiss(); });
  page.on("request", (r) => /^(file|data):/.test(r.url()) || troubles.push(`request: ${r.url()}`));
  page.on("requestfailed", (r) => troubles.push(`request failed: ${r.url().slice(0, 100)}`));
  await page.goto(pathToFileURL(report).href, { waitUntil: "load" });
  return { page, troubles, close: () => context.close() };
}

/** Contrast of some text with what is behind it, as the accessibility guidelines count it. */
const contrast = (page, selector) =>
  page.evaluate((selector) => {
    const rgba = (text) => {
      const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
      canvas.fillStyle = text;
      canvas.fillRect(0, 0, 1, 1);
      return [...canvas.getImageData(0, 0, 1, 1).data];
    };
    const light = ([r, g, b]) => {
      const [lr, lg, lb] = [r, g, b].map((c) => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
      return 0.2126 * lr + 0.7152 * lg + 0.0722 * lb;
    };
    const ratios = [...document.querySelectorAll(selector)].filter((e) => e.checkVisibility()).map((element) => {
      let behind = element;
      while (behind && rgba(getComputedStyle(behind).backgroundColor)[3] < 255) behind = behind.parentElement;
      const pair = [getComputedStyle(element).color, behind ? getComputedStyle(behind).backgroundColor : "white"];
      const [a, b] = pair.map((c) => light(rgba(c))).sort((a, b) => b - a);
      return (a + 0.05) / (b + 0.05);
    });
    return Math.min(...ratios);
  }, selector);

for (const report of reports) {
  describe(basename(report), () => {
    test("opens without complaint and without the network", async () => {
      const { page, troubles, close } = await open(report);
      await page.evaluate(() => document.querySelectorAll("details").forEach((d) => (d.open = true)));
      // Lazy pictures load when they come near.
      await page.evaluate(() => document.querySelectorAll("img").forEach((i) => (i.loading = "eager")));
      await page.evaluate(() => Promise.all([...document.images].map((i) => i.decode().catch(() => {}))));
      const broken = await page.$$eval("img", (all) => all.filter((i) => !(i.naturalWidth > 0)).map((i) => i.alt));
      assert.deepEqual(broken, [], "pictures that do not show");
      const nameless = await page.$$eval("img", (all) => all.filter((i) => !i.alt.trim()).length);
      assert.equal(nameless, 0, "pictures without alternative text");
      assert.deepEqual(troubles, []);
      await close();
    });

    test("has its headings, in order, and contents that lead somewhere", async () => {
      const { page, close } = await open(report);
      assert.equal(await page.locator("h1").count(), 1);
      assert.notEqual((await page.locator("h1").innerText()).trim(), "");
      assert.equal(await page.locator("main > section").count(), await page.locator("main > section > h2").count());
      assert.ok(await page.getByRole("heading", { name: "Use it", level: 2 }).isVisible());
      const levels = await page.$$eval("h1, h2, h3, h4", (all) => all.map((h) => Number(h.tagName[1])));
      levels.reduce((last, level) => (assert.ok(level <= last + 1, `h${level} after h${last}`), level), 0);
      const targets = await page.$$eval("nav a", (all) => all.map((a) => a.getAttribute("href")));
      const sections = await page.$$eval("main > section", (all) => all.map((s) => `#${s.id}`));
      assert.deepEqual(targets, sections);
      const ids = await page.$$eval("[id]", (all) => all.map((e) => e.id));
      assert.equal(new Set(ids).size, ids.length, "an id is used twice");
      const expected = await page.evaluate(() => ({
        parts: document.querySelector(".part") !== null,
        learning: document.querySelector(".plot .winner") !== null,
      }));
      if (expected.parts) assert.ok(sections.includes("#parts"));
      if (expected.learning) assert.ok(await page.getByRole("heading", { name: "How it was learned" }).isVisible());
      await close();
    });

    for (const width of widths) {
      test(`fits a window of ${width} pixels`, async () => {
        const { page, close } = await open(report, { viewport: { width, height: 800 } });
        await page.evaluate(() => document.querySelectorAll("details").forEach((d) => (d.open = true)));
        const wide = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
        assert.ok(wide <= 0, `the page is ${wide} pixels too wide`);
        // Labels of charts stand inside their cards.
        const clipped = await page.$$eval(".x-tick, .y-tick", (all) => all.filter((label) => {
          const [l, c] = [label, label.closest(".chart")].map((e) => e.getBoundingClientRect());
          return l.left < c.left || l.right > c.right || l.top < c.top || l.bottom > c.bottom;
        }).map((label) => label.textContent));
        assert.deepEqual(clipped, [], "labels outside of their charts");
        await close();
      });
    }

    for (const colorScheme of schemes) {
      test(`is readable in ${colorScheme} colours`, async () => {
        const { page, close } = await open(report, { colorScheme });
        for (const selector of ["body", ".lead", ".quiet", "figcaption", "dt", "th", "td", "nav a", "main a", ".up, .down", ".badge"]) {
          const ratio = await contrast(page, selector);
          assert.ok(ratio >= 4.5, `${selector}: contrast of ${ratio.toFixed(2)}`);
        }
        const dark = await page.evaluate(() => getComputedStyle(document.documentElement).colorScheme);
        assert.equal(dark, colorScheme);
        await close();
      });
    }

    test("changes its colours at a press of the button, and remembers", async () => {
      const { page, close } = await open(report, { colorScheme: "light" });
      const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
      const light = await background();
      await page.locator("#theme").click();
      const dark = await background();
      assert.notEqual(dark, light);
      assert.ok((await contrast(page, "body")) >= 4.5);
      await page.reload();
      assert.equal(await background(), dark);
      await page.locator("#theme").click();
      assert.equal(await background(), light);
      await close();
    });

    test("works without scripts", async () => {
      const { page, close } = await open(report, { colorScheme: "dark", javaScriptEnabled: false });
      assert.ok(await page.locator("h1").isVisible());
      assert.ok(await page.locator("#theme").isHidden());
      await close();
    });

    if (shots) {
      test("sits for its portraits", async () => {
        for (const [name, options] of [
          ["light", { colorScheme: "light" }],
          ["dark", { colorScheme: "dark" }],
          ["phone", { colorScheme: "light", viewport: { width: 360, height: 740 }, deviceScaleFactor: 2 }],
        ]) {
          const { page, close } = await open(report, options);
          await page.screenshot({ path: join(shots, `${basename(report, ".html")}-${name}.png`), fullPage: true });
          await close();
        }
      });
    }
  });
}
