// How fluid the page of a map is: frame times while it is dragged, zoomed and recoloured.
//
//   node tests/browser/fluid.mjs PAGE.html [SCREENSHOT.png]
//
// MEREO_CHROMIUM names the browser, if it is not /usr/bin/chromium. There is no graphics card here: WebGL is drawn by
// the processor, so that a reader's machine does better.

import { resolve } from "node:path";
import { pathToFileURL } from "node:url";

import { chromium } from "playwright-core";

const [page_path, shot] = process.argv.slice(2);
const browser = await chromium.launch({
  executablePath: process.env.MEREO_CHROMIUM ?? "/usr/bin/chromium",
  args: ["--headless", "--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--disable-quic",
    "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
});
const page = await browser.newPage({ viewport: { width: 1280, height: 1000 } });
const began = Date.now();
await page.goto(pathToFileURL(resolve(page_path)).href, { waitUntil: "load" });
await page.waitForFunction(() => window.mereoMap);
console.log(`open after ${Date.now() - began} ms`);
await page.locator("#map").scrollIntoViewIfNeeded();

/** Frame times in milliseconds while `step(k)` is done before each of `count` frames, in the page. */
const frames = (what, count) => page.evaluate(({ what, count }) => new Promise((done) => {
  const map = document.getElementById("map"), box = map.getBoundingClientRect();
  const [x, y] = [box.left + box.width / 2, box.top + box.height / 2];
  const fire = (type, x, y, more = {}) => map.dispatchEvent(new PointerEvent(type, {
    clientX: x, clientY: y, pointerId: 1, pointerType: "mouse", button: 0, buttons: 1, bubbles: true, ...more }));
  const steps = {
    rest: () => {},
    hover: (k) => fire("pointermove", x + 60 * Math.cos(k / 9), y + 60 * Math.sin(k / 9), { buttons: 0 }),
    drag: (k) => fire(k ? "pointermove" : "pointerdown", x + 60 * Math.cos(k / 9), y + 60 * Math.sin(k / 9)),
    zoom: (k) => map.dispatchEvent(new WheelEvent("wheel", { deltaY: k % 40 < 20 ? -60 : 60, clientX: x, clientY: y, bubbles: true, cancelable: true })),
  };
  const times = [];
  let last = null, k = 0;
  const frame = (now) => {
    if (last !== null) times.push(now - last);
    last = now;
    if (k > count) {
      fire("pointerup", x, y);
      return done(times);
    }
    steps[what](k++);
    requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
}), { what, count });

for (const what of ["rest", "hover", "drag", "zoom"]) {
  const times = (await frames(what, 120)).sort((a, b) => a - b);
  const at = (share) => times[Math.floor(share * (times.length - 1))].toFixed(1);
  console.log(`${what.padEnd(6)} median ${at(0.5)} ms, 95% within ${at(0.95)} ms, slowest ${at(1)} ms`);
}
if (shot) await page.screenshot({ path: shot });
await browser.close();
