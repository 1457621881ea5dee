// The frame of a chart: its title, unit and legend above the drawing.
import type { ComponentChildren, JSX, RefObject } from "preact";
import { useRef } from "preact/hooks";
import type { Cursor, Dash } from "./base";
import { type Color, color } from "./colors";

interface Props {
  title: string;
  unit?: string;
  /** what those read who do not see the drawing */
  label: string;
  box: RefObject<HTMLDivElement | null>;
  /** a cursor of this chart alone: the frame has the button that shows all again */
  own?: Cursor;
  tall?: boolean;
  /** a click that is not the end of a drag */
  onClick?: () => void;
  /** what stands in the legend */
  children: ComponentChildren;
}

export function Frame({ title, unit, label, box, own, tall, onClick, children }: Props): JSX.Element {
  const down = useRef(0);
  const mouse = onClick && {
    onMouseDown: (e: MouseEvent) => {
      down.current = e.clientX;
    },
    onClick: (e: MouseEvent) => {
      if (Math.abs(e.clientX - down.current) < 3) onClick();
    },
  };
  return (
    <figure class="chart">
      <figcaption>
        <span>
          {title}
          {unit && <span class="muted">, {unit}</span>}
        </span>
        {own && <ResetZoom cursor={own} />}
        <span class="legend">{children}</span>
      </figcaption>
      <div ref={box} class={tall ? "plot tall" : "plot"} role="img" aria-label={label} {...mouse} />
    </figure>
  );
}

/** ResetZoom shows all of the x axis again. */
export function ResetZoom({ cursor }: { cursor: Cursor }): JSX.Element | null {
  if (!cursor.zoom.value) return null;
  const reset = () => {
    cursor.zoom.value = null;
  };
  return (
    <button type="button" class="small reset-zoom" onClick={reset}>
      Reset zoom
    </button>
  );
}

interface KeyProps {
  label: string;
  color: Color;
  dash?: Dash;
  /** it has points alone */
  dot?: boolean;
  text: ComponentChildren;
  title?: string;
  /** whether this line is shown, and alone */
  shown: boolean;
  alone: boolean;
  /** shows this line alone, or all again; without it there is nothing to choose */
  choose?: () => void;
}

/** Key is a line of the legend. */
export function Key(props: KeyProps): JSX.Element {
  const paint = color(props.color);
  const style = (e: HTMLElement | null) => {
    if (!e) return;
    if (props.dot) e.style.background = paint;
    e.style.borderColor = paint;
    e.style.borderTopStyle = !props.dash ? "solid" : props.dash === "dots" ? "dotted" : "dashed";
  };
  const content = (
    <>
      <i class={props.dot ? "dot" : undefined} ref={style} />
      {props.label} {props.text}
    </>
  );
  if (!props.choose) return <span title={props.title}>{content}</span>;
  return (
    <button
      type="button"
      class={props.shown ? "key" : "key off"}
      aria-pressed={props.alone}
      title={[props.title, props.alone ? "Show all lines" : "Show this line alone"].filter(Boolean).join(". ")}
      onClick={props.choose}
    >
      {content}
    </button>
  );
}
