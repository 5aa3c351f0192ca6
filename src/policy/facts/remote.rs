//! Remote servers: the context of `server.connect`.

use std::net::IpAddr;

use cedar_policy_core::ast::RestrictedExpr;
use cedar_policy_core::evaluator::RestrictedEvaluator;
use cedar_policy_core::extensions::Extensions;

use crate::policy::vocabulary::TYPES;
use crate::request::ConnectServer;

use super::build::{Entities, FactError, Value, literal, member, number, reference, unfit};
use super::host;
use super::question::Fields;

/// Stands for an address that is not known; its class then says so.
const UNKNOWN: &str = "0.0.0.0";

/// The connection to one address.
pub(super) fn server(
    entities: &mut Entities<'_>,
    connect: &ConnectServer,
    at: Option<IpAddr>,
) -> Result<Fields, FactError> {
    let written = at.map_or_else(|| UNKNOWN.to_owned(), |at| at.to_string());
    Ok(vec![
        ("host", reference(host::add(entities, &connect.host))),
        ("scheme", member(&TYPES.scheme, connect.scheme.name())),
        ("port", number(u64::from(connect.port))),
        ("ip", address(&written)?),
        (
            "ip_class",
            member(&TYPES.ip_class, ConnectServer::class(at)),
        ),
        ("auth", member(&TYPES.auth_kind, connect.auth.name())),
        ("first_time", literal(connect.first_time)),
    ])
}

fn address(written: &str) -> Result<Value, FactError> {
    let function = "ip".parse().map_err(unfit("circumstances"))?;
    let call = RestrictedExpr::call_extension_fn(function, [RestrictedExpr::val(written)]);
    let evaluator = RestrictedEvaluator::new(Extensions::all_available());
    let value = evaluator.interpret(call.as_borrowed());
    value.map_err(unfit("circumstances"))
}
