// The page of a map, as a reader uses it: hover, search, colour, zoom, turn, touch. Reports that are no
// maps are passed over.
//
//   MEREO_REPORTS  report files, separated by colons
//   MEREO_SHOTS    a folder for screenshots, if wanted
//   MEREO_CHROMIUM the browser, if it is not /usr/bin/chromium

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { after, before, describe, test } from "node:test";
import { pathToFileURL } from "node:url";

import { chromium } from "playwright-core";

const all = (process.env.MEREO_REPORTS ?? "").split(":").filter(Boolean).map((p) => resolve(p));
const reports = all.filter((path) => readFileSync(path, "utf8").includes('id="map-data"'));
const shots = process.env.MEREO_SHOTS;

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

async function open(report, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 1000 }, ...options });
  const page = await context.newPage();
  const troubles = [];
  page.on("pageerror", (e) => troubles.push(e.message));
  page.on("request", (r) => /^(file|data):/.test(r.url()) || troubles.push(`request: ${r.url()}`));
  await page.goto(pathToFileURL(report).href, { waitUntil: "load" });
  await page.waitForFunction(() => window.mereoMap);
  await page.locator("#map").scrollIntoViewIfNeeded();
  return { page, troubles, close: () => context.close() };
}

/** How many pixels of the map are painted. */
const painted = (page) => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => {
  const map = document.getElementById("map"), copy = document.createElement("canvas");
  [copy.width, copy.height] = [map.width, map.height];
  const pen = copy.getContext("2d");
  pen.drawImage(map, 0, 0);
  const cells = pen.getImageData(0, 0, copy.width, copy.height).data;
  let count = 0;
  for (let k = 3; k < cells.length; k += 4) count += cells[k] > 40;
  done(count);
}))));

/** Where a row's point is on the screen. */
const where = async (page, row) => {
  const box = await page.locator("#map").boundingBox();
  const [x, y] = await page.evaluate((row) => window.mereoMap.where(row), row);
  return [box.x + x, box.y + y];
};

for (const report of reports) {
  describe(basename(report), () => {
    test("draws its points, and tells a row where the mouse is", async () => {
      const { page, troubles, close } = await open(report);
      assert.ok((await painted(page)) > 50, "nothing is drawn");
      await page.mouse.move(...(await where(page, 0)));
      await page.locator("#map-tip").waitFor({ state: "visible" });
      assert.notEqual((await page.locator("#map-tip strong").innerText()).trim(), "");
      if (shots) await page.screenshot({ path: join(shots, `${basename(report)}-hover.png`) });
      assert.deepEqual(troubles, []);
      await close();
    });

    test("finds a row by its name or number", async () => {
      const { page, close } = await open(report);
      await page.locator("#map-find").fill("1");
      const said = await page.locator("#map-found").innerText();
      assert.ok(said.length > 0 && !said.includes("no row"), said);
      const [x, y] = await page.evaluate(() => { const m = document.getElementById("map"); return [m.clientWidth / 2, m.clientHeight / 2]; });
      const at = await page.evaluate(() => window.mereoMap.where(1));
      assert.ok(Math.hypot(at[0] - x, at[1] - y) < 2, "the row is not in the middle");
      await page.locator("#map-find").fill("nobody is called this");
      assert.match(await page.locator("#map-found").innerText(), /no row/);
      await close();
    });

    test("zooms, moves or turns, by mouse and by keyboard", async () => {
      const { page, close } = await open(report);
      const seen = () => page.evaluate(() => window.mereoMap.seen());
      const box = await page.locator("#map").boundingBox();
      const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
      const first = await seen();
      await page.mouse.move(x, y);
      await page.mouse.wheel(0, -400);
      await page.waitForFunction((zoom) => window.mereoMap.seen().zoom > zoom, first.zoom);
      await page.mouse.down();
      await page.mouse.move(x + 80, y + 30, { steps: 4 });
      await page.mouse.up();
      const moved = await seen();
      const deep = (await page.evaluate(() => window.mereoMap.dimensions)) === 3;
      assert.notEqual(deep ? moved.yaw : moved.x, deep ? first.yaw : first.x);
      await page.locator("#map").focus();
      await page.keyboard.press("ArrowLeft");
      assert.notDeepEqual(await seen(), moved);
      await page.keyboard.press("0");
      assert.deepEqual(await seen(), first);
      await close();
    });

    test("colours by everything it offers", async () => {
      const { page, troubles, close } = await open(report);
      const names = await page.locator("#map-colour option").allInnerTexts();
      assert.ok(names.includes("density"));
      for (const [k, name] of names.slice(0, 12).entries()) {
        await page.locator("#map-colour").selectOption(String(k));
        assert.ok((await painted(page)) > 50, `nothing is drawn by ${name}`);
        assert.ok((await page.locator("#map-legend").innerText()).trim().length > 0, `no legend of ${name}`);
      }
      assert.deepEqual(troubles, []);
      await close();
    });

    test("answers fingers on a phone, in the dark", async () => {
      const { page, troubles, close } = await open(report, { viewport: { width: 390, height: 800 }, hasTouch: true, isMobile: true, colorScheme: "dark" });
      await page.touchscreen.tap(...(await where(page, 2)));
      await page.locator("#map-tip").waitFor({ state: "visible" });
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "wider than the screen");
      if (shots) await page.screenshot({ path: join(shots, `${basename(report)}-phone.png`) });
      assert.deepEqual(troubles, []);
      await close();
    });
  });
}
