import { render } from "preact";
import { connect } from "./api/feed";
import { App } from "./app";

render(<App />, document.getElementById("app")!);
connect();
