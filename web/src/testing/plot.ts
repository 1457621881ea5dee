// A uPlot that draws nothing and remembers what it was asked to draw: there is no canvas in a test.
import type uPlot from "uplot";

export class FakePlot {
  /** the charts that were made */
  static readonly made: FakePlot[] = [];
  readonly series: uPlot.Series[];
  readonly over = document.createElement("div");
  readonly cursor = { left: -10, top: -10 };
  readonly select = { left: 0, top: 0, width: 0, height: 0 };
  readonly bbox = { left: 0, top: 0, width: 300, height: 150 };
  readonly scales: Record<string, { min?: number; max?: number }> = { x: {}, y: {} };
  data!: uPlot.AlignedData;
  /** how often it got data */
  drawn = 0;

  constructor(
    readonly options: uPlot.Options,
    data: uPlot.AlignedData,
  ) {
    this.series = options.series;
    this.setData(data);
    FakePlot.made.push(this);
  }

  setData(data: uPlot.AlignedData): void {
    this.data = data;
    this.drawn++;
    const [low, high] = this.rangeOfX();
    this.scales.x = { min: low, max: high };
  }

  /** rangeOfX is what the axis shows of the data: all of it unless the chart says otherwise. */
  private rangeOfX(): [number, number] {
    const x = this.data[0];
    // uPlot widens the range of a single point before it asks for another.
    const [low, high] = [x[0] ?? 0, (x.at(-1) ?? 0) + (x.length === 1 ? 100 : 0)];
    const range = this.options.scales?.x?.range;
    if (typeof range !== "function") return [low, high];
    return range(this as unknown as uPlot, low, high, "x") as [number, number];
  }

  /** drag selects a part of the x axis, as a mouse does. */
  drag(from: number, to: number): void {
    Object.assign(this.select, { left: from, width: to - from });
    for (const hook of this.options.hooks?.setSelect ?? []) hook?.(this as unknown as uPlot);
  }

  setSelect(): void {}
  setSize(): void {}
  setSeries(i: number, { show }: { show: boolean }): void {
    this.series[i]!.show = show;
  }
  destroy(): void {}

  /** Places are values: a pixel is a unit. */
  posToVal(at: number): number {
    return at;
  }
  valToPos(v: number): number {
    return v;
  }
}
