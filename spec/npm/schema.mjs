// Judges YAML files by JSON Schemas as editors do: `node schema.mjs`, on stdin {"<schema file>": [file, ...]}. Prints
// {"<file>": ""} or what is wrong with it.
import Ajv from "ajv";
import { readFileSync } from "node:fs";
import { parse } from "yaml";

const read = (path) => readFileSync(path, "utf8");
const verdicts = {};
for (const [schema, files] of Object.entries(JSON.parse(read(0)))) {
	const ajv = new Ajv({ allowUnionTypes: true, strictTypes: false, strictRequired: false });
	const validate = ajv.compile(JSON.parse(read(schema)));
	for (const file of files)
		verdicts[file] = validate(parse(read(file))) ? "" : ajv.errorsText(validate.errors);
}
console.log(JSON.stringify(verdicts));
