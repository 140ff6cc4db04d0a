import a from "./gone";
import b from "left-pad";
import http from "node:http";

export default [a, b, http];
