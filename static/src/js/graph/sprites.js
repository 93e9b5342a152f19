// @ts-check
// Words and marks of a graph as bitmaps: each is drawn once, and then only copied into the frames.

const HEIGHT = 16; // of a line of words
const BESIDE = 3; // room on both sides of them

/** @typedef {CanvasRenderingContext2D} Context */
/** @typedef {{bitmap: HTMLCanvasElement, width: number, height: number}} Sprite with its size in CSS pixels */

export class Sprites {
  /** @type {Map<string, Sprite>} */
  kept = new Map();

  /** @param {string} font @param {number} ratio device pixels of a CSS pixel */
  constructor(font, ratio) {
    this.font = font;
    this.ratio = ratio;
    this.measure = /** @type {Context} */ (document.createElement("canvas").getContext("2d"));
    this.measure.font = font;
  }

  /** What is kept under a name, or drawn now; `draw` begins in the middle. @param {string} key
   * @param {number} width @param {number} height @param {(context: Context) => void} draw @returns {Sprite} */
  sprite(key, width, height, draw) {
    const known = this.kept.get(key);
    if (known) return known;
    const bitmap = document.createElement("canvas");
    bitmap.width = Math.ceil(width * this.ratio);
    bitmap.height = Math.ceil(height * this.ratio);
    const sprite = { bitmap, width: bitmap.width / this.ratio, height: bitmap.height / this.ratio };
    const context = /** @type {Context} */ (bitmap.getContext("2d"));
    context.setTransform(this.ratio, 0, 0, this.ratio, bitmap.width / 2, bitmap.height / 2);
    draw(context);
    this.kept.set(key, sprite);
    return sprite;
  }

  /** Words on the paper, so that they can be read above lines. @param {string} words
   * @param {string} colour @param {string} paper */
  words(words, colour, paper) {
    return this.sprite(`${colour} ${words}`, this.measure.measureText(words).width + 2 * BESIDE, HEIGHT, (context) => {
      context.globalAlpha = 0.8;
      context.fillStyle = paper;
      context.fillRect(-1000, -HEIGHT, 2000, 2 * HEIGHT);
      context.globalAlpha = 1;
      context.font = this.font;
      context.textAlign = "center";
      context.fillStyle = colour;
      context.fillText(words, 0, 4);
    });
  }

  /** Copies a bitmap to where its middle lies, pixel by pixel. @param {Context} context @param {Sprite} sprite
   * @param {number} x @param {number} y */
  copy(context, { bitmap, width, height }, x, y) {
    const { ratio } = this;
    const [left, top] = [Math.round((x - width / 2) * ratio) / ratio, Math.round((y - height / 2) * ratio) / ratio];
    context.drawImage(bitmap, left, top, width, height);
  }
}
